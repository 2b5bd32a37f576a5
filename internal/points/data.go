package points

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/sdk"
)

// dataPoints are the points of data.
var dataPoints = []harness.Point{
	{
		Name: "samples",
		Promise: "every sample has a bag or a row of numbers and as many targets as the others; indices and classes " +
			"are at least 0, numbers finite",
		Alone: func(s *harness.Subject) error {
			samples, err := loadSamples(s)
			if err != nil {
				return err
			}
			if err := CheckSamples(&samples.Batch); err != nil {
				return err
			}
			total := 0
			for _, n := range samples.Batches {
				total += n
			}
			if samples.Batches != nil && total != samples.Size() {
				return fmt.Errorf("the batches hold %d samples, but there are %d", total, samples.Size())
			}
			if samples.HeldOut != nil {
				if err := CheckSamples(&samples.HeldOut.Batch); err != nil {
					return fmt.Errorf("held out: %w", err)
				}
			}
			return nil
		},
	},
	{
		Name:    "again",
		Promise: "the same settings and seed give the same samples",
		Alone: func(s *harness.Subject) error {
			first, err := loadSamples(s)
			if err != nil {
				return err
			}
			second, err := loadSamples(s)
			if err == nil && !sameSamples(&first.Batch, &second.Batch) {
				err = fmt.Errorf("%d samples are loaded and then %d others", first.Size(), second.Size())
			}
			return err
		},
	},
	{
		Name: "stream",
		Promise: "readers of streamed data give the same samples in the same order, also side by side and " +
			"after Skip, and end with io.EOF",
		Alone: checkStream,
	},
}

// Inputs are model inputs that a data part may have to support.
var Inputs = []sdk.InputSpec{
	{Rows: 11, Classes: 3, Targets: 1},
	{Features: 5, Classes: 3, Targets: 1},
	{Tables: []int{7, 5}, Features: 2, Classes: 2, Targets: 1},
	{Rows: 1 << 20, Classes: 1 << 20, Targets: 1},
}

// makeData creates the part for the first of the inputs that it accepts.
func makeData(s *harness.Subject) (sdk.Data, *sdk.Samples, error) {
	var errs []error
	list := Inputs
	if s.Inputs != nil {
		list = []sdk.InputSpec{*s.Inputs}
	}
	for _, in := range list {
		made, err := s.Part.Build(s.BuiltWith(), s.Environment())
		if err != nil {
			return nil, nil, err
		}
		if fitted, ok := made.(sdk.FittedData); ok {
			fitted.Fit(in)
		}
		samples, err := made.(sdk.Data).Load()
		switch {
		case err == nil && samples == nil:
			return nil, nil, errors.New("Load returns no samples and no error")
		case err == nil:
			return made.(sdk.Data), samples, nil
		}
		closePart(made)
		errs = append(errs, err)
	}
	return nil, nil, errs[0]
}

// loadSamples returns all samples. For streamed data, a reader reads them.
func loadSamples(s *harness.Subject) (*sdk.Samples, error) {
	data, samples, err := makeData(s)
	if err != nil {
		return nil, err
	}
	defer closePart(data)
	if streamed, ok := data.(sdk.StreamedData); ok {
		b, err := readAll(streamed, 7, 0)
		if err != nil {
			return nil, err
		}
		samples.Batch = *b
	}
	return samples, nil
}

// CheckSamples returns an error if samples are invalid.
func CheckSamples(b *sdk.Batch) error {
	n := b.Size()
	if n == 0 {
		return errors.New("there are no samples")
	}
	if len(b.Offsets) > 0 {
		if err := comm.CheckOffsets(b.Offsets, len(b.Indices)); err != nil {
			return err
		}
	}
	if all := len(b.Targets) + len(b.FloatTargets); all == 0 || all%n != 0 {
		return fmt.Errorf("there are %d targets for %d samples", all, n)
	}
	if len(b.FloatTargets) != n*b.TargetWidth || b.TargetWidth > 0 && len(b.Targets) > 0 {
		return fmt.Errorf("there are %d numbers and %d classes as targets for %d samples whose TargetWidth is %d",
			len(b.FloatTargets), len(b.Targets), n, b.TargetWidth)
	}
	if err := harness.Finite("the targets", b.FloatTargets); err != nil {
		return err
	}
	if len(b.Features)%n != 0 {
		return fmt.Errorf("there are %d numbers for %d samples, but every sample must have the same number",
			len(b.Features), n)
	}
	for _, list := range [][]int64{b.Indices, b.Targets} {
		if i := slices.IndexFunc(list, func(v int64) bool { return v < 0 }); i >= 0 {
			return fmt.Errorf("index or target %d is %d", i, list[i])
		}
	}
	return harness.Finite("the numbers of the samples", b.Features)
}

func sameSamples(a, b *sdk.Batch) bool {
	return slices.Equal(a.Indices, b.Indices) && slices.Equal(a.Offsets, b.Offsets) &&
		slices.Equal(a.Features, b.Features) && slices.Equal(a.Targets, b.Targets) &&
		slices.Equal(a.FloatTargets, b.FloatTargets) && a.TargetWidth == b.TargetWidth
}

// readAll skips some samples and reads the rest, n at a time.
func readAll(data sdk.StreamedData, n, skip int) (*sdk.Batch, error) {
	reader, err := data.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = reader.Close() }() // reading needs no close error
	if err := reader.Skip(skip); err != nil {
		return nil, err
	}
	all, part := &sdk.Batch{}, &sdk.Batch{}
	for range 1 << 16 {
		err := reader.Read(part, n)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if part.Size() == 0 || part.Size() > n {
			return nil, fmt.Errorf("Read gives %d samples where %d were asked for, and no io.EOF", part.Size(), n)
		}
		for i := range part.Size() {
			each := len(part.Targets) / part.Size()
			if len(part.Offsets) > 0 {
				all.Append(part.Bag(i), part.Targets[i*each:(i+1)*each]...)
			} else {
				all.Targets = append(all.Targets, part.Targets[i*each:(i+1)*each]...)
			}
		}
		all.Features = append(all.Features, part.Features...)
		all.FloatTargets, all.TargetWidth = append(all.FloatTargets, part.FloatTargets...), part.TargetWidth
	}
	return all, nil // enough samples to compare
}

func checkStream(s *harness.Subject) error {
	made, _, err := makeData(s)
	if err != nil {
		return err
	}
	defer closePart(made)
	data, ok := made.(sdk.StreamedData)
	if !ok {
		return nil
	}
	whole, err := readAll(data, 7, 0)
	if err != nil {
		return err
	}
	held, err := data.Open() // a second open reader
	if err != nil {
		return err
	}
	defer func() { _ = held.Close() }() // reading needs no close error
	again, err := readAll(data, 3, 0)
	if err != nil {
		return err
	}
	if !sameSamples(whole, again) {
		return fmt.Errorf("a second reader gives %d other samples than the first, which gave %d",
			again.Size(), whole.Size())
	}
	const skip = 2
	rest, err := readAll(data, 5, skip)
	if err != nil {
		return err
	}
	targets, floats := len(whole.Targets)/max(1, whole.Size())*skip, skip*whole.TargetWidth
	if whole.Size() <= skip {
		return nil
	}
	if rest.Size() != whole.Size()-skip || !slices.Equal(rest.Targets, whole.Targets[targets:]) ||
		!slices.Equal(rest.FloatTargets, whole.FloatTargets[floats:]) {
		return fmt.Errorf("after %d were skipped there are %d of %d samples", skip, rest.Size(), whole.Size())
	}
	return nil
}
