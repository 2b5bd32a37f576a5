//go:build nvidia

// Package bags copies bags of indices to a device. There, models and tables look up the rows and add up the
// gradients of those rows.
package bags

import (
	"github.com/psbench/psbench/cuda/compute/device"
	"github.com/psbench/psbench/cuda/kernels"
)

// Bags are the bags of a batch: bag i is indices[offsets[i]:offsets[i+1]]. The memory grows to the largest batch.
// One goroutine uses Bags, the goroutine of its lane.
type Bags struct {
	numbers *device.Transfer[int64] // indices, then offsets
	runs    *device.Transfer[int32] // rows, starts, then order
	sorter  kernels.Sorter
	labels  []int32 // bag of each index

	// Indices and Offsets are the values of the last Send, on the device.
	Indices, Offsets []int64
}

// New returns bags whose copies run on a lane.
func New(d *device.Device, l *device.Lane) (*Bags, error) {
	numbers, err := device.NewTransfer[int64](d, l)
	if err != nil {
		return nil, err
	}
	runs, err := device.NewTransfer[int32](d, l)
	return &Bags{numbers: numbers, runs: runs}, err
}

// Send copies bags to the device.
func (b *Bags) Send(indices, offsets []int64) error {
	n := len(indices)
	room, err := b.numbers.Room(n + len(offsets))
	if err != nil {
		return err
	}
	copy(room, indices)
	copy(room[n:], offsets)
	sent, err := b.numbers.Send(n + len(offsets))
	if err != nil {
		return err
	}
	b.Indices, b.Offsets = sent[:n:n], sent[n:]
	return nil
}

// Sort sorts the indices of bags and copies them to the device as runs of equal indices. A run's order lists bag
// numbers, or positions among the indices if offsets is nil. rows are the distinct indices, ascending, in ordinary
// memory; they are valid until the next Sort. The cost is sorting n numbers.
func (b *Bags) Sort(indices, offsets []int64) (rows []int32, runs kernels.Runs, err error) {
	b.sorter.Sort(indices, b.label(offsets))
	sorted := &b.sorter.Runs
	n, starts, all := len(sorted.Rows), len(sorted.Starts), len(sorted.Rows)+len(sorted.Starts)+len(sorted.Order)
	room, err := b.runs.Room(all)
	if err != nil {
		return nil, runs, err
	}
	copy(room, sorted.Rows)
	copy(room[n:], sorted.Starts)
	copy(room[n+starts:], sorted.Order)
	sent, err := b.runs.Send(all)
	if err != nil {
		return nil, runs, err
	}
	return sorted.Rows, kernels.Runs{Rows: sent[:n:n], Starts: sent[n : n+starts : n+starts], Order: sent[n+starts:]},
		nil
}

// label returns the bag of each index, or nil if offsets is nil.
func (b *Bags) label(offsets []int64) []int32 {
	if offsets == nil {
		return nil
	}
	b.labels = b.labels[:0]
	for bag, end := range offsets[1:] {
		for int64(len(b.labels)) < end {
			b.labels = append(b.labels, int32(bag)) // #nosec G115 -- a batch has fewer than 2^31 bags
		}
	}
	return b.labels
}
