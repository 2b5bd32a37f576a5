package data

import (
	"errors"
	"fmt"
	"slices"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/plugins/data/internal/datafile"
	"github.com/psbench/psbench/plugins/data/internal/split"
	"github.com/psbench/psbench/sdk"
)

// sample is one sample of a file.
type sample struct {
	hasBag   bool
	bag      []number
	features []feature
	targets  []target
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

// fileSamples collects the training samples and the held-out samples of a file.
type fileSamples struct {
	files []datafile.File // files begun so far; the last one is being read
	split split.Split
	count int64
	// All samples must agree on these: whether they have bags, and how many features and targets.
	hasBags           bool
	features, targets int
	wanted            wanted
	fraction          bool // some target is not an integer
	trained, heldOut  placedSamples
}

// placedSamples are samples together with the places of their values in the files.
type placedSamples struct {
	batch          sdk.Batch
	files          []int32 // file of each sample, from 0
	lines          []int   // line of each sample's target
	columns        []int32 // columns of the indices
	featureColumns []int32
	targetColumns  []int32
}

// add stores a sample that was read from the given line. The sample must have the same form as the earlier samples.
func (f *fileSamples) add(line int, s *sample) error {
	if f.count == 0 {
		f.hasBags, f.features, f.targets = s.hasBag, len(s.features), len(s.targets)
	}
	if err := f.check(s); err != nil {
		return err
	}
	f.fraction = f.fraction || slices.ContainsFunc(s.targets, func(t target) bool { return !t.whole })
	to := &f.trained
	if f.split.HeldOut(f.count) {
		to = &f.heldOut
	}
	f.count++
	to.add(len(f.files)-1, line, s)
	return nil
}

// samples returns the training samples, with the held-out samples if there are any.
func (f *fileSamples) samples() *sdk.Samples {
	numbers := f.wanted.areNumbers(!f.fraction, f.hasBags, f.targets)
	f.trained.settle(numbers, f.targets)
	f.heldOut.settle(numbers, f.targets)
	out := f.placed(&f.trained)
	if len(f.heldOut.lines) > 0 {
		out.HeldOut = f.placed(&f.heldOut)
	}
	return out
}

func (f *fileSamples) placed(p *placedSamples) *sdk.Samples {
	return &sdk.Samples{Batch: p.batch, Origin: func(sample, position int) string {
		line, column := p.place(f, sample, position)
		return fmt.Sprintf("%s, line %d, column %d", f.files[p.files[sample]].Shown(), line, column)
	}}
}

func (p *placedSamples) add(file, line int, s *sample) {
	p.files = append(p.files, int32(file)) // #nosec G115 -- no folder has 2^31 files
	for _, n := range s.bag {
		p.batch.Indices = append(p.batch.Indices, n.value)
		p.columns = append(p.columns, int32(n.column)) // #nosec G115 -- no line has 2^31 bytes
	}
	for _, n := range s.features {
		p.batch.Features = append(p.batch.Features, n.value)
		p.featureColumns = append(p.featureColumns, int32(n.column)) // #nosec G115 -- no line has 2^31 bytes
	}
	for _, n := range s.targets {
		p.batch.Targets = append(p.batch.Targets, n.class)
		p.batch.FloatTargets = append(p.batch.FloatTargets, n.number)
		p.targetColumns = append(p.targetColumns, int32(n.column)) // #nosec G115 -- no line has 2^31 bytes
	}
	if s.hasBag {
		if len(p.lines) == 0 {
			p.batch.Offsets = []int64{0}
		}
		p.batch.Offsets = append(p.batch.Offsets, int64(len(p.batch.Indices)))
	}
	p.lines = append(p.lines, line)
}

// settle stores the targets as classes or as numbers, with the given count per sample.
func (p *placedSamples) settle(numbers bool, each int) {
	if numbers {
		p.batch.Targets, p.batch.TargetWidth = nil, each
	} else {
		p.batch.FloatTargets = nil
	}
}

// check returns an error if s differs in form from the first sample, or lacks something.
func (f *fileSamples) check(s *sample) error {
	switch {
	case s.hasBag != f.hasBags:
		return errors.New("some samples have indices and some have none: all must have them or none")
	case len(s.features) != f.features:
		return fmt.Errorf("the number of features is %d but the first sample has %d", len(s.features),
			f.features)
	case len(s.targets) != f.targets:
		return fmt.Errorf("the number of targets is %d but the first sample has %d", len(s.targets), f.targets)
	case !s.hasBag && len(s.features) == 0:
		return errors.New("the sample has no indices and no features")
	case len(s.targets) == 0:
		return errors.New("the sample has no targets but must have at least 1")
	case !s.hasBag && len(s.targets) > 1 && f.wanted.targets == classes:
		return fmt.Errorf("a sample of features alone has one target but this one has %d", len(s.targets))
	}
	return nil
}

// place returns where a value of a sample stands in its file. Positions count the indices and then the features.
// Position -1 is the first target, -2 the second.
func (p *placedSamples) place(f *fileSamples, sample, position int) (line int, column int32) {
	var bag []int64
	if f.hasBags {
		bag = p.batch.Bag(sample)
	}
	line = p.lines[sample]
	switch {
	case position < 0:
		return line, p.targetColumns[sample*f.targets-1-position]
	case position < len(bag):
		return line, p.columns[p.batch.Offsets[sample]+int64(position)]
	default:
		return line, p.featureColumns[sample*f.features+position-len(bag)]
	}
}

// parseNumber reads an index or a target.
func parseNumber(text string) (int64, error) {
	v, err := numeral.Int(numeral.Truth(text))
	switch {
	case errors.Is(err, numeral.ErrRange):
		return 0, fmt.Errorf("%s is too large for a 64-bit integer", quote.Text(text))
	case err != nil:
		return 0, fmt.Errorf("%s is not an integer; indices and targets are integers of 0 or more%s",
			quote.String(text), numeral.Why(err))
	case v < 0:
		return 0, fmt.Errorf("%d is negative; indices and targets are integers of 0 or more", v)
	}
	return v, nil
}

// parseFeature reads a feature.
func parseFeature(text string) (float32, error) {
	v, err := numeral.Float(numeral.Truth(text), 32)
	switch {
	case errors.Is(err, numeral.ErrRange):
		return 0, fmt.Errorf("%s is too large for a 32-bit number", quote.Text(text))
	case err != nil:
		return 0, fmt.Errorf("%s is not a number; features are finite numbers%s", quote.String(text), numeral.Why(err))
	}
	return float32(v), nil
}

// at adds the line and column to an error.
func at(line, column int, err error) error {
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}
