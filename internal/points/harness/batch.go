package harness

import (
	"github.com/psbench/psbench/internal/points/toys"
	"github.com/psbench/psbench/sdk"
)

// Batch returns n samples that a model accepts. Different values of salt give different samples. Some bags are
// empty, and some contain an index twice.
func Batch(in sdk.InputSpec, n, salt int) *sdk.Batch {
	b := &sdk.Batch{}
	for i := range n {
		targets := make([]int64, max(1, in.Targets))
		for k := range targets {
			targets[k] = int64((i + k) % max(1, in.Classes))
		}
		switch {
		case len(in.Tables) > 0:
			var bag []int64
			for k, rows := range in.Tables {
				bag = append(bag, int64((i*7+k+salt)%rows))
			}
			b.Append(bag, targets...)
		case in.Rows > 0:
			b.Append(bagOf(in, i, salt), targets...)
		default:
			b.Targets = append(b.Targets, targets...)
		}
		for k := range in.Features {
			b.Features = append(b.Features, toys.Number(i*31+k+salt))
		}
	}
	return b
}

// bagOf returns the bag of sample i, with the length that the model requires.
func bagOf(in sdk.InputSpec, i, salt int) []int64 {
	row, last := int64((i*5+salt)%in.Rows), int64(in.Rows-1)
	length := in.BagLength
	switch {
	case length == 0:
		return [][]int64{{row}, {}, {row, row}, {row, 0, last}}[i%4]
	case length < 0:
		length = 4
	}
	bag := make([]int64, length)
	for k := range bag {
		bag[k] = []int64{row, row, 0, last}[(k+i)%4]
	}
	return bag
}
