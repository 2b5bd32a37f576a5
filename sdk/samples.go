package sdk

import (
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/sdk/proto"
)

// validate checks every sample against the limits of the inputs.
func (s *Samples) validate(in *proto.Inputs) error {
	if s == nil || s.Size() == 0 {
		return fmt.Errorf("the data holds no samples")
	}
	if err := s.check(); err != nil {
		return fmt.Errorf("the data does not hold together: %w", err)
	}
	if err := s.validateCounts(in); err != nil {
		return err
	}
	for i := range s.Size() {
		if err := s.validateSample(in, i); err != nil {
			return err
		}
	}
	return nil
}

// validateSample checks the values of sample i.
func (s *Samples) validateSample(in *proto.Inputs, i int) error {
	numbers, targets := len(s.Features)/s.Size(), len(s.Targets)/s.Size()
	bag := s.bag(i)
	for p, v := range bag {
		switch {
		case in.GetRows() == 0:
			return fmt.Errorf("%s: there is index %d but the model takes no indices", s.where(i, p), v)
		case v < 0 || v >= in.GetRows():
			return fmt.Errorf("%s: index %d is outside the embedding's range of 0 to %d", s.where(i, p), v, in.GetRows()-1)
		}
	}
	for p, v := range s.Features[i*numbers : (i+1)*numbers] {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("%s: the number %v is not finite", s.where(i, len(bag)+p), v)
		}
	}
	for k, v := range s.Targets[i*targets : (i+1)*targets] {
		if v < 0 || v >= in.GetClasses() {
			return fmt.Errorf("%s: target %d is outside the model's classes of 0 to %d", s.where(i, -1-k), v, in.GetClasses()-1)
		}
	}
	return nil
}

// validateCounts checks what all samples have equally many of, and names the first.
func (s *Samples) validateCounts(in *proto.Inputs) error {
	numbers, targets := int64(len(s.Features)/s.Size()), int64(len(s.Targets)/s.Size())
	switch {
	case in.GetRows() > 0 && len(s.Offsets) == 0:
		return fmt.Errorf("%s has no bag of indices but the model takes one", s.whole(0))
	case numbers != in.GetFeatures():
		return fmt.Errorf("%s: the number of features is %d but the model takes %d", s.whole(0), numbers, in.GetFeatures())
	case targets != max(1, in.GetTargets()):
		return fmt.Errorf("%s: the number of targets is %d but must be %d, one for each row that the model gets of a sample", s.whole(0), targets, max(1, in.GetTargets()))
	}
	return nil
}

// bag is Bag for samples that may have none.
func (s *Samples) bag(i int) []int64 {
	if len(s.Offsets) == 0 {
		return nil
	}
	return s.Bag(i)
}

// whole names a sample.
func (s *Samples) whole(sample int) string {
	return s.name(fmt.Sprintf("sample %d", sample), sample, -1)
}

// where names a value of a sample by its position, as Origin counts.
func (s *Samples) where(sample, position int) string {
	switch {
	case position >= 0:
		return s.name(fmt.Sprintf("sample %d, position %d", sample, position), sample, position)
	case len(s.Targets) > s.Size():
		return s.name(fmt.Sprintf("sample %d, target %d", sample, -1-position), sample, position)
	default:
		return s.whole(sample)
	}
}

func (s *Samples) name(text string, sample, position int) string {
	if s.Origin != nil {
		text += " (" + s.Origin(sample, position) + ")"
	}
	return text
}

// cut makes batches in sample order: those that the data asks for, or of size
// samples, of which the last may be short. They are views of the samples but for
// their offsets.
func (s *Samples) cut(size int) ([]Batch, error) {
	var out []Batch
	if s.Batches == nil {
		for from := 0; from < s.Size(); from += size {
			out = append(out, s.slice(from, min(from+size, s.Size())))
		}
		return out, nil
	}
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

// slice is the batch of samples from to to.
func (s *Samples) slice(from, to int) Batch {
	numbers, targets := len(s.Features)/s.Size(), len(s.Targets)/s.Size()
	b := Batch{
		Features: s.Features[from*numbers : to*numbers],
		Targets:  s.Targets[from*targets : to*targets],
	}
	if len(s.Offsets) == 0 {
		return b
	}
	first := s.Offsets[from]
	b.Indices = s.Indices[first:s.Offsets[to]]
	b.Offsets = make([]int64, to-from+1)
	for i := range b.Offsets {
		b.Offsets[i] = s.Offsets[from+i] - first
	}
	return b
}

func (b *Batch) distinct() int {
	rows := slices.Clone(b.Indices)
	slices.Sort(rows)
	return len(slices.Compact(rows))
}
