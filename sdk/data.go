package sdk

import "fmt"

// Data provides the samples of a run. It lives in a process of its own, which
// loads once, validates against the model, cuts batches in sample order (the
// last one may be short) and deals them round-robin to the trainers.
type Data interface {
	// Load reads or generates all samples.
	Load() (*Samples, error)
}

// Samples is a list of samples in the form of Batch.
type Samples struct {
	Batch
	// Origin says where an input position of a sample came from, for error
	// messages, e.g. "train.csv, line 3, column 7". position -1 is the target.
	// It may be nil.
	Origin func(sample, position int) string
}

// Batch is a list of samples, each a bag of indices with one target class.
// Bag i is Indices[Offsets[i]:Offsets[i+1]]; Offsets has one element more than
// there are samples and starts at 0.
type Batch struct {
	Indices []int64
	Offsets []int64
	Targets []int64
}

// Size is the number of samples.
func (b *Batch) Size() int { return len(b.Targets) }

// Bag is the bag of indices of sample i.
func (b *Batch) Bag(i int) []int64 { return b.Indices[b.Offsets[i]:b.Offsets[i+1]] }

// check says where the offsets do not cut the indices into one bag per sample.
func (b *Batch) check() error {
	if len(b.Offsets) != b.Size()+1 {
		return fmt.Errorf("%d offsets for %d samples; there must be one more", len(b.Offsets), b.Size())
	}
	last := int64(0)
	for i, at := range b.Offsets {
		if at < last || i == 0 && at != 0 {
			return fmt.Errorf("offset %d is %d; offsets start at 0 and do not fall", i, at)
		}
		last = at
	}
	if last != int64(len(b.Indices)) {
		return fmt.Errorf("the last offset is %d but there are %d indices", last, len(b.Indices))
	}
	return nil
}

// Append adds one sample.
func (b *Batch) Append(bag []int64, target int64) {
	if len(b.Offsets) == 0 {
		b.Offsets = append(b.Offsets, 0)
	}
	b.Indices = append(b.Indices, bag...)
	b.Offsets = append(b.Offsets, int64(len(b.Indices)))
	b.Targets = append(b.Targets, target)
}

// DataEnv is what a data part knows of its run.
type DataEnv struct {
	Seed uint64 // the run's --torch-seed
}
