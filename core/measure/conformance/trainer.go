package conformance

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/internal/points/inrun"
	"github.com/psbench/psbench/sdk"
)

// trainerBase chooses a trainer, servers for the service that it needs, and a model that it can train.
func (c *Check) trainerBase(part sdk.Part, o options) error {
	o["trainer"] = part.Key
	o["model"], o["create_criterion"] = "mlp", "cel"
	o.set(sdk.KindModel, map[string]any{"sizes": []int{8, 4}})
	switch part.Needs {
	case sdk.ServiceGradients: // its hook joins both the group and the server, and may use either to reduce
		o["server"], o["nserver"], o["ddp_hook"] = "average", 1, "sparse_rpc"
	case sdk.ServiceTables:
		o["server"], o["nserver"] = "embedding", 2
		o.set(sdk.KindServer, map[string]any{"num_embeddings": 64, "embedding_dim": 4})
	case sdk.ServiceParameters:
		o["server"], o["nserver"], o["ddp_hook"] = "batch_update", 1, "rpc"
	}
	o["batch_size"] = 8
	return nil
}

// The length of a pass in iterations. Trials use more than one epoch of data, or less.
const (
	longer  = 6
	shorter = 3
)

// pass describes a run of a trainer.
type pass struct {
	trainers, iterations int
	warmUp               bool
}

// trainerTrials adds the trials of a trainer. They examine the results of the trainer's runs.
func (c *Check) trainerTrials(part sdk.Part, trials map[string]func(context.Context) error) {
	runs := map[pass]*result.Result{} // successful runs
	train := func(ctx context.Context, p pass) (*result.Result, error) {
		if out := runs[p]; out != nil {
			return out, nil
		}
		out, err := c.train(ctx, part, p)
		if err == nil {
			runs[p] = out
		}
		return out, err
	}
	several := pass{2, longer, false}
	trials["plan"] = func(ctx context.Context) error {
		_, err := train(ctx, several)
		return err
	}
	trials["order"] = func(ctx context.Context) error { return c.order(ctx, part) }
	trials["trains"] = func(ctx context.Context) error {
		for _, p := range []pass{{1, longer, false}, several, {3, longer, false}} {
			out, err := train(ctx, p)
			if err != nil {
				return fmt.Errorf("a world of %d: %w", p.trainers, err)
			}
			if err := checkLosses(out, p); err != nil {
				return err
			}
		}
		return nil
	}
	trials["reset"] = func(ctx context.Context) error {
		p := several
		if part.Needs == sdk.ServiceTables {
			p.trainers = 1 // with several trainers, chance decides which of them steps a row first
		}
		first, err := train(ctx, p)
		if err != nil {
			return err
		}
		p.warmUp = true
		second, err := train(ctx, p)
		if err != nil {
			return err
		}
		for rank := range first.Losses {
			if !slices.Equal(first.Losses[rank], second.Losses[rank]) {
				return fmt.Errorf("trainer%d reports %.6g in a run of one pass but, in the second pass of another run, "+
					"%.6g",
					rank, first.Losses[rank], second.Losses[rank])
			}
		}
		return nil
	}
	trials["equal"] = func(ctx context.Context) error {
		out, err := train(ctx, several)
		if err != nil {
			return err
		}
		for rank, parameters := range out.Parameters {
			if !reflect.DeepEqual(parameters, out.Parameters[0]) {
				return fmt.Errorf("trainer%d ends with parameters that differ from trainer0's: %s",
					rank, difference(out.Parameters[0], parameters))
			}
		}
		return nil
	}
	trials["ends"] = func(ctx context.Context) error {
		p := pass{1, shorter, false}
		out, err := train(ctx, p)
		if err != nil {
			return err
		}
		return checkLosses(out, p)
	}
}

// train executes a run of the trainer.
func (c *Check) train(ctx context.Context, part sdk.Part, p pass) (*result.Result, error) {
	o, err := c.base(part)
	if err != nil {
		return nil, err
	}
	delete(o, "epochs")
	o["ntrainer"], o["iterations"] = p.trainers, p.iterations
	if p.warmUp {
		o["warmup"] = "full"
	}
	if part.Needs == sdk.ServiceTables && p.trainers > 1 {
		o["nserver"] = p.trainers
		o.set(sdk.KindModel, map[string]any{"sizes": []int{4 * p.trainers, 4}})
	}
	return c.run(ctx, o)
}

// order checks the order of calls in two runs, one for model and criterion and one for the hook. psbench's parts for
// trials end a run at the first call out of order. They run in companions, where the trainer cannot use the hook's
// links. A trainer that needs these links may fail in the second run, so this run reports only calls out of order.
func (c *Check) order(ctx context.Context, part sdk.Part) error {
	watching := map[string]string{"model": inrun.OrderedKey, "create_criterion": inrun.OrderedKey}
	err := c.ordered(ctx, part, watching, "model,criterion")
	if err != nil {
		return err
	}
	hook := inrun.OrderedKey
	if part.Needs == sdk.ServiceParameters {
		hook = inrun.PushKey
	}
	err = c.ordered(ctx, part, map[string]string{"ddp_hook": hook}, "hook")
	if err != nil && (errors.Is(err, monitor.ErrInterrupted) || strings.Contains(err.Error(), harness.OutOfOrder)) {
		return err
	}
	return nil
}

// ordered executes a run with parts that end the run at a call out of order. watching maps options to the keys of these
// parts.
func (c *Check) ordered(ctx context.Context, part sdk.Part, watching map[string]string, isolate string) error {
	o, err := c.base(part)
	if err != nil {
		return err
	}
	o["ntrainer"], o["isolate"] = 2, isolate
	for option, key := range watching {
		o[option] = key
	}
	if watching["model"] != "" {
		o.set(sdk.KindModel, nil)
		if part.Needs == sdk.ServiceTables {
			o.set(sdk.KindServer, map[string]any{"num_embeddings": 64, "embedding_dim": 3})
		}
	}
	_, err = c.run(ctx, o)
	return err
}

// checkLosses returns an error if a pass has wrong losses.
func checkLosses(out *result.Result, p pass) error {
	for rank, list := range out.Losses {
		if len(list) != p.iterations {
			return fmt.Errorf("trainer%d of %d reports %d losses for %d iterations",
				rank, p.trainers, len(list), p.iterations)
		}
		if i := slices.IndexFunc(list, func(v float64) bool { return !numeral.Finite(v) }); i >= 0 {
			return fmt.Errorf("trainer%d of %d reports a loss of %g in iteration %d", rank, p.trainers, list[i], i)
		}
	}
	if len(out.Losses) != p.trainers {
		return errors.New("some trainers report no losses")
	}
	return nil
}

// difference names the first parameter that differs.
func difference(a, b []result.ParameterSummary) string {
	for i := range min(len(a), len(b)) {
		if !reflect.DeepEqual(a[i], b[i]) {
			return fmt.Sprintf("%s begins with %.6g and with %.6g", a[i].Name, a[i].Head, b[i].Head)
		}
	}
	return fmt.Sprintf("%d and %d of them", len(a), len(b))
}
