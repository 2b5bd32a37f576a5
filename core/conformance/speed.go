package conformance

import (
	"context"
	"errors"
	"slices"

	"github.com/psbench/psbench/core/monitor"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

// builtin is psbench's own part of the kind, with which the part is compared.
func builtin(part sdk.Part) string {
	switch part.Kind {
	case sdk.KindServer:
		return "average"
	case sdk.KindHook:
		if slices.Contains(part.Links, sdk.LinkServer) {
			return "rpc"
		}
		return "allreduce"
	case sdk.KindCriterion:
		return "cel"
	case sdk.KindTrainer:
		return "ddp"
	}
	return "DummyModel"
}

// speed writes how long an iteration takes with the part, and with psbench's own of its kind. A
// part that cannot be trained with as it is has no such line.
func (c *Check) speed(ctx context.Context, part sdk.Part) error {
	theirs, err := c.iterationMS(ctx, part, part.Key)
	if errors.Is(err, monitor.ErrInterrupted) {
		return err
	}
	if err != nil {
		return c.line(20, "  --    %-11s not measured: %s", "speed", quote.Lines(err.Error()))
	}
	own, err := c.iterationMS(ctx, part, builtin(part))
	if errors.Is(err, monitor.ErrInterrupted) {
		return err
	}
	if err != nil { // settings that only theirs has
		return c.line(20, "        %-11s %.3g ms an iteration", "speed", theirs)
	}
	return c.line(20, "        %-11s %.3g ms an iteration; %.3g ms with psbench's %s", "speed", theirs, own, builtin(part))
}

// iterationMS is the mean time of an iteration of a small training.
func (c *Check) iterationMS(ctx context.Context, part sdk.Part, key string) (float64, error) {
	const iterations = 50
	values := chosen(part, key)
	values["ntrainer"], values["iterations"] = 2, iterations
	if part.Kind == sdk.KindModel && key != builtin(part) {
		values["data"] = "conformance"
	} else {
		values["set"] = map[string]any{"model": map[string]any{
			"num_embeddings": 256, "embedding_dim": 256, "dense_input_size": 256, "dense_output_size": 256,
		}}
	}
	out, err := c.run(ctx, values)
	if err != nil {
		return 0, err
	}
	if out.Throughput.Seconds <= 0 {
		return 0, errors.New("the run has no time")
	}
	return 1000 * out.Throughput.Seconds / iterations, nil
}
