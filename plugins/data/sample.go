package data

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

// sample is one sample of a file.
type sample struct {
	hasBag   bool
	bag      []number
	features []feature
	targets  []number
}

// number is an integer of a sample and the column where it starts.
type number struct {
	value  int64
	column int
}

// feature is a feature of a sample and the column where it starts.
type feature struct {
	value  float32
	column int
}

// fileSamples collects samples with the places that their numbers came from.
type fileSamples struct {
	path  string
	batch sdk.Batch
	lines []int // of each sample's target
	// Of all samples alike: whether they have bags, and how much else.
	hasBags           bool
	features, targets int
	columns           []int32 // of the indices
	featureColumns    []int32
	targetColumns     []int32
}

// add takes a sample that was read from a line. It must be of the same form as those
// before it.
func (f *fileSamples) add(line int, s *sample) error {
	if len(f.lines) == 0 {
		f.hasBags, f.features, f.targets = s.hasBag, len(s.features), len(s.targets)
	}
	if err := f.check(s); err != nil {
		return err
	}
	for _, n := range s.bag {
		f.batch.Indices = append(f.batch.Indices, n.value)
		f.columns = append(f.columns, int32(n.column)) // #nosec G115 -- no line has 2^31 bytes
	}
	for _, n := range s.features {
		f.batch.Features = append(f.batch.Features, n.value)
		f.featureColumns = append(f.featureColumns, int32(n.column)) // #nosec G115 -- no line has 2^31 bytes
	}
	for _, n := range s.targets {
		f.batch.Targets = append(f.batch.Targets, n.value)
		f.targetColumns = append(f.targetColumns, int32(n.column)) // #nosec G115 -- no line has 2^31 bytes
	}
	if s.hasBag {
		if len(f.lines) == 0 {
			f.batch.Offsets = []int64{0}
		}
		f.batch.Offsets = append(f.batch.Offsets, int64(len(f.batch.Indices)))
	}
	f.lines = append(f.lines, line)
	return nil
}

// check says how s differs from the first sample, or what it lacks.
func (f *fileSamples) check(s *sample) error {
	switch {
	case s.hasBag != f.hasBags:
		return errors.New("some samples have indices and some have none: all must have them or none")
	case len(s.features) != f.features:
		return fmt.Errorf("the number of features is %d but that of the first sample is %d", len(s.features), f.features)
	case len(s.targets) != f.targets:
		return fmt.Errorf("the number of targets is %d but that of the first sample is %d", len(s.targets), f.targets)
	case !s.hasBag && len(s.features) == 0:
		return errors.New("the sample has no indices and no features")
	case len(s.targets) == 0:
		return errors.New("the sample has no targets but must have at least 1")
	case !s.hasBag && len(s.targets) > 1:
		return fmt.Errorf("a sample of features alone has one target but this one has %d", len(s.targets))
	}
	return nil
}

// origin says where an input of a sample stands: an index or, after those, a feature;
// at position -1 its first target, at -2 its second.
func (f *fileSamples) origin(sample, position int) string {
	var bag []int64
	if f.hasBags {
		bag = f.batch.Bag(sample)
	}
	var column int32
	switch {
	case position < 0:
		column = f.targetColumns[sample*f.targets-1-position]
	case position < len(bag):
		column = f.columns[f.batch.Offsets[sample]+int64(position)]
	default:
		column = f.featureColumns[sample*f.features+position-len(bag)]
	}
	return fmt.Sprintf("%s, line %d, column %d", quote.Word(f.path), f.lines[sample], column)
}

// parseNumber reads an index or a target.
func parseNumber(text string) (int64, error) {
	v, err := strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is too large for a 64-bit integer", quote.Text(text))
	case err != nil:
		return 0, fmt.Errorf("%s is not an integer; indices and targets are integers of 0 or more", quote.String(text))
	case v < 0:
		return 0, fmt.Errorf("%d is negative; indices and targets are integers of 0 or more", v)
	}
	return v, nil
}

// parseFeature reads a feature.
func parseFeature(text string) (float32, error) {
	v, err := strconv.ParseFloat(text, 32)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is too large for a 32-bit number", quote.Text(text))
	case err != nil || math.IsNaN(v) || math.IsInf(v, 0):
		return 0, fmt.Errorf("%s is not a number; features are finite numbers", quote.String(text))
	}
	return float32(v), nil
}

// at says where in the file an error lies.
func at(line, column int, err error) error {
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}
