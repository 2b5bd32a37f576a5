package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/numeral"
)

// Recorded is a case that psbench recorded from a trusted run. It holds the configuration of the run, which may be any,
// and its results.
type Recorded struct {
	Header
	Config map[string]any `json:"config"` // in the form of a configuration file
	Expect []RecordedRank `json:"expect"`
}

// RecordedRank holds the results that one rank must reach. Trainers come first, then servers.
type RecordedRank struct {
	Rank   int         `json:"rank"`
	Loss   []float64   `json:"loss,omitempty"`   // one per iteration; absent for a server
	Params []Parameter `json:"params,omitempty"` // in the order of registration; absent for a server that holds none
}

// recordedTolerance allows for another order of summation and for other instructions.
var recordedTolerance = Tolerance{LossRel: 1e-5, DeltaHeadAbs: 1e-6, DeltaSumSqRel: 1e-4}

func (c *Recorded) check(file string) error {
	trainers := 0
	for i, r := range c.Expect {
		if r.Rank != i {
			return fmt.Errorf("%s: expect has rank %d at place %d: all ranks must be there, in order", file, r.Rank, i)
		}
		if (len(r.Loss) > 0) != (i < c.NTrainer) {
			return fmt.Errorf("%s: rank %d has %d losses, but the %d trainers have some and servers none",
				file, i, len(r.Loss), c.NTrainer)
		}
		trainers += min(1, len(r.Loss))
	}
	if trainers == 0 || trainers != c.NTrainer || len(c.Expect) > c.NTrainer+c.NServer {
		return fmt.Errorf("%s: expect has %d ranks, %d of them with losses, but ntrainer is %d and nserver is %d",
			file, len(c.Expect), trainers, c.NTrainer, c.NServer)
	}
	return nil
}

// Layer implements Case.
func (c *Recorded) Layer() config.Layer { return c.layer(maps.Clone(c.Config)) }

// Expected implements Case.
func (c *Recorded) Expected() []Expected {
	ranks := make([]Expected, len(c.Expect))
	for i, r := range c.Expect {
		ranks[i] = Expected{Rank: r.Rank, Losses: r.Loss, Params: r.Params}
	}
	return ranks
}

// Record turns a configuration into a case. It runs the configuration twice and returns an error if the results differ.
// They may differ with servers that do not wait for all trainers.
func Record(ctx context.Context, name string, e *config.Experiment, o run.Options) (*Recorded, error) {
	if err := refuseCUDA(e); err != nil {
		return nil, err
	}
	o.Summarize = true
	first, err := run.Run(ctx, e, o)
	if err != nil {
		return nil, err
	}
	c, err := recorded(name, e, first)
	if err != nil {
		return nil, err
	}
	second, err := run.Run(ctx, e, o)
	if err != nil {
		return nil, err
	}
	if failures := Compare(c, second).Failures; len(failures) > 0 {
		return nil, fmt.Errorf("two runs gave different values, so this is no reference case: %s", failures[0])
	}
	return c, nil
}

// recorded returns the case for a finished run.
func recorded(name string, e *config.Experiment, r *result.Result) (*Recorded, error) {
	c := &Recorded{Header: Header{Name: name, Kind: "recorded", Tolerance: recordedTolerance},
		Config: config.File(e.Values)}
	for _, of := range []struct {
		key string
		to  any
	}{{"torch_seed", &c.Seed}, {"trainer", &c.Trainer}, {"ntrainer", &c.NTrainer}, {"nserver", &c.NServer}} {
		// Encoding converts the value to the form that it will have in the file, whatever its type here.
		raw, err := json.Marshal(c.Config[of.key])
		if err == nil {
			err = json.Unmarshal(raw, of.to)
		}
		if err != nil {
			return nil, fmt.Errorf("%s cannot be recorded: %w", of.key, err)
		}
		delete(c.Config, of.key)
	}
	// The user of psbench verify decides where a case runs and in which environment.
	for _, key := range []string{"registry", "no_user_registry", "transport", "listen", "insecure_network", "isolate",
		"rpc_timeout", "warmup"} {
		delete(c.Config, key)
	}
	for rank, losses := range r.Losses {
		for i, loss := range losses {
			if !numeral.Finite(loss) {
				return nil, fmt.Errorf("trainer%d has the loss %v in iteration %d: a reference case needs finite losses",
					rank, loss, i)
			}
		}
		c.Expect = append(c.Expect,
			RecordedRank{Rank: rank, Loss: losses, Params: parametersOf(element(r.Parameters, rank))})
	}
	for i, params := range r.ServerParameters {
		c.Expect = append(c.Expect, RecordedRank{Rank: c.NTrainer + i, Params: parametersOf(params)})
	}
	return c, c.check("the run")
}

func parametersOf(summaries []result.ParameterSummary) (params []Parameter) {
	for _, s := range summaries {
		params = append(params,
			Parameter{DeltaSum: s.DeltaSum, DeltaSumSq: s.DeltaSumSq, DeltaHead: s.DeltaHead, Head: s.Head})
	}
	return params
}
