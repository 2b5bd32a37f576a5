package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/points"
	"github.com/psbench/psbench/internal/points/inrun"
	"github.com/psbench/psbench/sdk"
)

// dataTrials adds the trials for data. They check the batches that trainers get.
func (c *Check) dataTrials(part sdk.Part, trials map[string]func(context.Context) error) {
	var whole [][]string // batches of a run with one trainer
	var streamed bool
	var samples int
	trials["samples"] = func(ctx context.Context) error {
		if c.first != nil {
			return c.first
		}
		out, err := c.read(ctx, part, alone)
		if err == nil {
			whole, streamed, samples = batches(out), out.Data.Streamed, out.Data.Samples
		}
		return err
	}
	trials["again"] = func(ctx context.Context) error {
		out, err := c.read(ctx, part, alone)
		if err == nil && !slices.Equal(batches(out)[0], whole[0]) {
			err = errors.New("a second run has other batches than the first")
		}
		return err
	}
	trials["stream"] = func(ctx context.Context) error {
		if !streamed {
			return errUnseen("the data is not streamed")
		}
		shared := reading{trainers: 3, epochs: 2, batchSize: alone.batchSize}
		switch {
		case samples < 2:
			return errUnseen("one sample cannot be divided between two trainers")
		case len(whole[0]) < shared.trainers:
			shared.trainers, shared.batchSize = min(shared.trainers, samples), 1
			out, err := c.read(ctx, part, reading{trainers: 1, epochs: 1, batchSize: 1})
			if err != nil {
				return err
			}
			whole = batches(out)
		}
		out, err := c.read(ctx, part, shared)
		if err != nil {
			return err
		}
		trainers, epochs := shared.trainers, shared.epochs
		for rank, read := range batches(out) {
			for i, sum := range read {
				n := len(read) / epochs // batches in an epoch
				if at := i%n*trainers + rank; at < len(whole[0]) && sum != whole[0][at] {
					return fmt.Errorf("batch %d of epoch %d of trainer%d, of %d, is not batch %d of one that reads "+
						"alone",
						i%n, i/n, rank, trainers, at)
				}
			}
		}
		return nil
	}
}

// reading describes a run in which trainers read the data.
type reading struct{ trainers, epochs, batchSize int }

// alone is a run with a single trainer.
var alone = reading{trainers: 1, epochs: 1, batchSize: 5}

// ofNumbers is a criterion whose targets are numbers.
const ofNumbers = "mse"

// read makes trainers read the data. It uses a criterion for classes. If no model takes such targets, read uses a
// criterion for numbers.
func (c *Check) read(ctx context.Context, part sdk.Part, how reading) (*result.Result, error) {
	out, err := c.readFor(ctx, part, how)
	chosen := c.numbers || c.Model || c.fits != "" || c.inputs != nil
	if err == nil || chosen || endsCheck(err) || c.missing(part, err) != "" {
		return out, err
	}
	c.numbers = true
	if out, nerr := c.readFor(ctx, part, how); nerr == nil {
		return out, nil
	}
	c.numbers = false
	return nil, err
}

func (c *Check) readFor(ctx context.Context, part sdk.Part, how reading) (*result.Result, error) {
	o, err := c.base(part)
	if err != nil {
		return nil, err
	}
	o["ntrainer"], o["epochs"], o["batch_size"] = how.trainers, how.epochs, how.batchSize
	if c.numbers {
		o["create_criterion"] = ofNumbers
	}
	if c.Model {
		return c.run(ctx, o)
	}
	if c.fit(o) {
		return c.run(ctx, o)
	}
	var first error
	for _, in := range points.Inputs {
		o.set(sdk.KindModel, taking(&in))
		out, err := c.run(ctx, o)
		if err == nil || endsCheck(err) {
			c.inputs = &in
			return out, err
		}
		if first == nil {
			first = err
		}
		if c.missing(part, err) != "" {
			return nil, err // another model would not help
		}
	}
	for _, model := range c.models() {
		o["model"] = model
		o.set(sdk.KindModel, nil)
		out, err := c.run(ctx, o)
		if err == nil || errors.Is(err, monitor.ErrInterrupted) {
			c.fits = model
			return out, err
		}
	}
	return nil, fmt.Errorf("%w (no other of %d models takes it: name one that does, by --model and --set "+
		"model.setting=value)",
		first, len(points.Inputs))
}

// fit chooses the model that fitted the data in an earlier run. It returns false if there is no such model.
func (c *Check) fit(o options) bool {
	switch {
	case c.fits != "":
		o["model"] = c.fits
		o.set(sdk.KindModel, nil)
	case c.inputs != nil:
		o.set(sdk.KindModel, taking(c.inputs))
	}
	return c.fits != "" || c.inputs != nil
}

// taking returns settings with which psbench's model for trials takes the inputs.
func taking(in *sdk.InputSpec) map[string]any {
	return map[string]any{
		"rows": in.Rows, "features": in.Features, "classes": in.Classes, "targets": in.Targets,
		"tables": append([]int{}, in.Tables...),
	}
}

// batches returns, for each trainer, the checksums of its batches.
func batches(r *result.Result) (list [][]string) {
	for _, p := range r.Processes {
		if p.Kind == string(sdk.KindTrainer) {
			list = append(list, strings.Fields(p.Facts[inrun.BatchesFact]))
		}
	}
	return list
}
