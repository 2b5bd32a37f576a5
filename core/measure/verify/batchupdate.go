package verify

import (
	"fmt"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/internal/splitmix"
)

// BatchUpdate is a case of a linear layer whose parameters and optimizer live on a
// server, which steps once every trainer has sent its gradients.
type BatchUpdate struct {
	Header
	Server     string            `json:"server"`
	BatchSize  int               `json:"batch_size"`
	Shape      []int             `json:"shape"`       // inputs and outputs of the layer
	NumBatches int               `json:"num_batches"` // of each trainer
	LR         float64           `json:"lr"`
	Momentum   float64           `json:"momentum"`
	Expect     BatchUpdateExpect `json:"expect"`
}

// BatchUpdateExpect is the expected result of the run: the losses of every trainer, and the change of the server's
// parameters.
type BatchUpdateExpect struct {
	Loss   [][]float64 `json:"loss"`
	Params []Parameter `json:"params"`
}

// mostNumbers is the largest number of inputs of a case. psbench computes the inputs from the counts in the case.
const mostNumbers = 1 << 24

func (c *BatchUpdate) check(file string) error {
	if len(c.Shape) != 2 {
		return fmt.Errorf("%s: shape has length %d but must have 2 numbers: inputs and outputs", file, len(c.Shape))
	}
	for _, n := range []struct {
		name  string
		value int
	}{{"shape[0]", c.Shape[0]}, {"shape[1]", c.Shape[1]}, {"batch_size", c.BatchSize}, {"num_batches", c.NumBatches}} {
		if n.value < 1 || n.value > mostNumbers {
			return fmt.Errorf("%s: %s is %d but must be from 1 to %d", file, n.name, n.value, mostNumbers)
		}
	}
	if err := c.checkLosses(file, c.Expect.Loss); err != nil {
		return err
	}
	batches := 0
	for t, losses := range c.Expect.Loss {
		if len(losses) != c.NumBatches {
			return fmt.Errorf("%s: expect has %d losses of trainer%d but num_batches is %d",
				file, len(losses), t, c.NumBatches)
		}
		batches += c.NumBatches
	}
	if numbers := c.BatchSize * c.Shape[0]; numbers > mostNumbers/batches {
		return fmt.Errorf("%s: %d batches of %d numbers are more than %d numbers", file, batches, numbers, mostNumbers)
	}
	if c.NServer != 1 || len(c.Expect.Params) == 0 {
		return fmt.Errorf("%s: nserver is %d and expect lists %d parameters, but there must be 1 server, "+
			"and expect must list its parameters", file, c.NServer, len(c.Expect.Params))
	}
	return nil
}

// firstInput is the number of the SplitMix64 stream for the inputs of the first batch.
const firstInput = 1000

// features returns the inputs of all samples. Batch number step*ntrainer + t is batch number step of trainer t. Its
// inputs are the stream firstInput + t*num_batches + step.
func (c *BatchUpdate) features() [][]float32 {
	var rows [][]float32
	for step := range c.NumBatches {
		for t := range c.NTrainer {
			batch := make([]float32, c.BatchSize*c.Shape[0])
			splitmix.Uniform(c.Seed, uint64(firstInput+t*c.NumBatches+step), batch, 1) // #nosec G115 -- not negative
			for s := range c.BatchSize {
				rows = append(rows, batch[s*c.Shape[0]:(s+1)*c.Shape[0]])
			}
		}
	}
	return rows
}

// Layer implements Case.
func (c *BatchUpdate) Layer() config.Layer {
	features := c.features()
	return c.layer(map[string]any{
		"server": c.Server, "ddp_hook": "rpc", "create_criterion": "l1", "epochs": 1, "batch_size": c.BatchSize,
		"model": "mlp", "data": "inline",
		"set": map[string]any{
			"server": map[string]any{"lr": c.LR, "momentum": c.Momentum},
			"model":  map[string]any{"sizes": c.Shape, "relu_after": []int{}},
			"data":   map[string]any{"features": features, "targets": make([]int64, len(features))},
		},
	})
}

// Expected implements Case.
func (c *BatchUpdate) Expected() []Expected {
	var ranks []Expected
	for t, losses := range c.Expect.Loss {
		ranks = append(ranks, Expected{Rank: t, Losses: losses})
	}
	return append(ranks, Expected{Rank: c.NTrainer, Params: c.Expect.Params})
}
