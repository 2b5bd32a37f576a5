package sdk

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/sdk/proto"
)

// validate checks every sample, and every one that is held out, against the limits of
// the inputs.
func (s *Samples) validate(in *proto.Inputs) error {
	if s == nil || s.Size() == 0 {
		return errNoSamples
	}
	c := checker{in: in, origin: s.Origin}
	if err := c.check(&s.Batch); err != nil {
		return err
	}
	return s.validateHeldOut(in)
}

func (s *Samples) validateHeldOut(in *proto.Inputs) error {
	if s.heldOutSize() == 0 {
		return nil
	}
	c := checker{in: in, adjective: "held-out ", origin: s.HeldOut.Origin}
	return c.check(&s.HeldOut.Batch)
}

// heldOutSize is the number of samples that are held out.
func (s *Samples) heldOutSize() int {
	if s == nil || s.HeldOut == nil {
		return 0
	}
	return s.HeldOut.Size()
}

// cut makes batches in sample order: those that the data asks for, or of size
// samples, of which the last may be short.
func (s *Samples) cut(size int) ([]Batch, error) {
	if s.Batches == nil {
		return s.cutEvery(size), nil
	}
	var out []Batch
	from := 0
	for i, n := range s.Batches {
		if n <= 0 || n > s.Size()-from {
			return nil, fmt.Errorf("batch %d of the data has %d samples; it must have one at least, and at most the %d that are left of %d", i, n, s.Size()-from, s.Size())
		}
		out = append(out, s.slice(from, from+n))
		from += n
	}
	if from < s.Size() {
		return nil, fmt.Errorf("the data's %d batches have %d samples; they must add up to all %d", len(s.Batches), from, s.Size())
	}
	return out, nil
}

// cutEvery makes batches of size samples, of which the last may be short. They are
// views of b but for their offsets.
func (b *Batch) cutEvery(size int) (out []Batch) {
	for from := 0; from < b.Size(); from += size {
		out = append(out, b.slice(from, min(from+size, b.Size())))
	}
	return out
}

// slice is the batch of samples from to to.
func (b *Batch) slice(from, to int) Batch {
	numbers, targets := len(b.Features)/b.Size(), len(b.Targets)/b.Size()
	part := Batch{
		Features: b.Features[from*numbers : to*numbers],
		Targets:  b.Targets[from*targets : to*targets],
	}
	if len(b.Offsets) == 0 {
		return part
	}
	first := b.Offsets[from]
	part.Indices = b.Indices[first:b.Offsets[to]]
	part.Offsets = make([]int64, to-from+1)
	for i := range part.Offsets {
		part.Offsets[i] = b.Offsets[from+i] - first
	}
	return part
}

// distinct is how many rows the indices name. Where there are several tables, index k of
// a bag names a row of table k.
func (b *Batch) distinct(tables []int64) int {
	rows := slices.Clone(b.Indices)
	first := int64(0) // of table k, in a stack of all tables
	for k, n := range tables {
		for i := k; i < len(rows); i += len(tables) {
			rows[i] += first
		}
		first += n
	}
	slices.Sort(rows)
	return len(slices.Compact(rows))
}
