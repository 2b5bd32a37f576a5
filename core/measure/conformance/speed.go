package conformance

import (
	"context"
	"errors"
	"slices"

	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

// builtin returns the key of psbench's own part of the same kind, for a comparison. For data, this part makes inputs
// for the same model.
func (c *Check) builtin(part sdk.Part) string {
	switch part.Kind {
	case sdk.KindServer:
		return map[sdk.Service]string{
			sdk.ServiceGradients: "average", sdk.ServiceTables: "embedding", sdk.ServiceParameters: "batch_update",
		}[part.Serves]
	case sdk.KindHook:
		if slices.Contains(part.Links, sdk.LinkServer) {
			return "rpc"
		}
		return "allreduce"
	case sdk.KindCriterion:
		return "cel"
	case sdk.KindTrainer:
		return map[sdk.Service]string{
			sdk.ServiceGradients: "ddp", sdk.ServiceTables: "hybrid", sdk.ServiceParameters: "batch_update",
		}[part.Needs]
	case sdk.KindData:
		switch in := c.inputs; {
		case in != nil && in.Rows > 0:
			return "dummy"
		case in != nil && len(in.Tables) == 0:
			return "dense"
		}
		return "clicks"
	}
	return "DummyModel"
}

// speed writes the time of an iteration with the part and with psbench's own part of the same kind. If the part cannot
// train as it is, the line has no times. If the part's process dies, the part has failed.
func (c *Check) speed(ctx context.Context, part sdk.Part) error {
	theirs, err := c.iterationMS(ctx, part, part.Key)
	if errors.Is(err, monitor.ErrInterrupted) {
		return err
	}
	var died *launch.DeathError
	if errors.As(err, &died) {
		c.kept, c.failed = c.kept-1, c.failed+1
		return c.tell(outcome{
			Kind: part.Kind, Key: part.Key, Point: "speed", Outcome: pointFailed,
			Promise: "no process of a training with the part dies", Why: err.Error(),
		})
	}
	if err != nil {
		return c.line(20, "  --    %-11s not measured: %s", "speed", quote.Lines(err.Error()))
	}
	own, err := c.iterationMS(ctx, part, c.builtin(part))
	if errors.Is(err, monitor.ErrInterrupted) {
		return err
	}
	if err != nil { // the error may name settings that psbench's part lacks
		return c.line(20, "        %-11s %.3g ms an iteration", "speed", theirs)
	}
	if err := c.line(20, "        %-11s %.3g ms an iteration; %.3g ms with psbench's %s",
		"speed", theirs, own, c.builtin(part)); err != nil || !reduces(part) || theirs <= slow*own {
		return err
	}
	return c.warnSlow(ctx, part, theirs/own)
}

// slow is the largest slowdown without a warning, relative to psbench's own hook or server.
const slow = 5

// slowRounds is the number of measurements of a slowdown. The median counts.
const slowRounds = 3

// warnSlow measures a slow part again. It warns if the part is still slow.
func (c *Check) warnSlow(ctx context.Context, part sdk.Part, first float64) error {
	ratios := []float64{first}
	for len(ratios) < slowRounds {
		theirs, err := c.iterationMS(ctx, part, part.Key)
		if err != nil {
			return interrupted(err)
		}
		own, err := c.iterationMS(ctx, part, c.builtin(part))
		if err != nil {
			return interrupted(err)
		}
		ratios = append(ratios, theirs/own)
	}
	if median, warns := slowness(ratios); warns {
		return c.line(20, "  warn  %-11s an iteration takes %.3g times as long as with psbench's %s, the median of "+
			"%d rounds; more than %d times is slow",
			"speed", median, c.builtin(part), slowRounds, slow)
	}
	return nil
}

// slowness returns the median slowdown. warns is true if the median deserves a warning.
func slowness(ratios []float64) (median float64, warns bool) {
	median = numeral.Median(ratios)
	return median, median > slow
}

// interrupted returns the error if it ends the whole check and not only a measurement. Otherwise it returns nil.
func interrupted(err error) error {
	if errors.Is(err, monitor.ErrInterrupted) {
		return err
	}
	return nil
}

// iterationMS returns the mean time of an iteration, in ms, in a small training run with the part of this key.
func (c *Check) iterationMS(ctx context.Context, part sdk.Part, key string) (float64, error) {
	const iterations = 50
	o, err := c.training(part, key)
	if err != nil {
		return 0, err
	}
	delete(o, "epochs")
	o["ntrainer"], o["iterations"], o["batch_size"], o["warmup"] = 2, iterations, 10, "full"
	out, err := c.run(ctx, o)
	if err != nil {
		return 0, err
	}
	if out.Throughput.Seconds <= 0 {
		return 0, errors.New("the run has no time")
	}
	return 1000 * out.Throughput.Seconds / iterations, nil
}

// training returns the options of a training run that measures the part with this key.
func (c *Check) training(part sdk.Part, measured string) (options, error) {
	o, err := c.base(part)
	if err != nil {
		return nil, err
	}
	switch part.Kind {
	case sdk.KindTrainer:
		o["trainer"] = measured
		return o, nil
	case sdk.KindData:
		o["data"] = measured
		if !c.Model {
			c.fit(o)
		}
		if c.numbers {
			o["create_criterion"] = ofNumbers
		}
		switch in := c.inputs; {
		case in == nil || measured == part.Key:
		case measured == "dummy":
			o.set(sdk.KindData, map[string]any{"max_val": min(in.Rows, in.Classes)})
		case measured == "dense":
			o.set(sdk.KindData, map[string]any{"features": in.Features})
		}
		return o, nil
	}
	o["trainer"] = "ddp"
	switch part.Kind {
	case sdk.KindModel:
		if o["model"] = measured; measured == part.Key {
			return o, nil
		}
	case sdk.KindHook:
		o["ddp_hook"] = measured
	case sdk.KindCriterion:
		o["create_criterion"] = measured
	case sdk.KindServer:
		o["server"] = measured
	}
	switch part.Serves {
	case sdk.ServiceTables:
		o["trainer"], o["ddp_hook"], o["model"] = "hybrid", "allreduce", "mlp"
		o.set(sdk.KindModel, map[string]any{"sizes": []int{2 * c.width, 8}})
		if measured != part.Key {
			o.set(sdk.KindServer, map[string]any{"embedding_dim": c.width})
		}
	case sdk.ServiceParameters:
		if o["trainer"] = "batch_update"; measured != part.Key {
			o["model"] = "mlp"
		}
	default:
		delete(o, "data")
		o["model"] = "DummyModel"
		o.set(sdk.KindModel, map[string]any{
			"num_embeddings": 256, "embedding_dim": 256, "dense_input_size": 256, "dense_output_size": 256,
		})
	}
	return o, nil
}
