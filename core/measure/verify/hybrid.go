package verify

import (
	"fmt"

	"github.com/psbench/psbench/core/plan/config"
)

// Hybrid is a case of embedding tables on servers and the dense layers on one trainer.
// Several trainers race, so they have no reference.
type Hybrid struct {
	Header
	Server        string        `json:"server"`
	NumEmbeddings int           `json:"num_embeddings"`
	EmbeddingDim  int           `json:"embedding_dim"`
	LR            float64       `json:"lr"` // of the trainer and of the servers
	Batches       []HybridBatch `json:"batches"`
	Expect        HybridExpect  `json:"expect"`
}

// HybridBatch is one batch: bag i begins at Offsets[i] of the indices, and has one
// target per row of model inputs that the columns of all tables make.
type HybridBatch struct {
	Indices []int64 `json:"indices"`
	Offsets []int   `json:"offsets"`
	Targets []int64 `json:"targets"`
}

// HybridExpect is the expected result of the run: the loss of every iteration and the change of parameters. Params has
// the tables of the servers first, then the parameters of the trainer.
type HybridExpect struct {
	Loss   []float64   `json:"loss"`
	Params []Parameter `json:"params"`
}

// The dense layers of every hybrid case.
var (
	hybridSizes     = []int{512, 256, 128, 64, 32, 8}
	hybridReLUAfter = []int{2}
)

func (c *Hybrid) check(file string) error {
	switch {
	case c.NTrainer != 1:
		return fmt.Errorf("%s: ntrainer is %d but a hybrid case has 1: several trainers race", file, c.NTrainer)
	case c.NServer < 1 || c.NServer >= len(c.Expect.Params):
		return fmt.Errorf("%s: expect has %d parameters but nserver is %d: there must be one for each server's table and then those of the trainer",
			file, len(c.Expect.Params), c.NServer)
	}
	for i, b := range c.Batches {
		if err := b.check(); err != nil {
			return fmt.Errorf("%s: batch %d %w", file, i, err)
		}
	}
	return c.checkLosses(file, [][]float64{c.Expect.Loss})
}

func (b *HybridBatch) check() error {
	last := 0
	for i, at := range b.Offsets {
		if i == 0 && at != 0 || at < last || at > len(b.Indices) {
			return fmt.Errorf("has %d as offset %d, but offsets start at 0, do not fall and stay within the %d indices",
				at, i, len(b.Indices))
		}
		last = at
	}
	if len(b.Offsets) == 0 {
		return fmt.Errorf("has no bags")
	}
	return nil
}

// bags returns the bags of indices of the batch.
func (b *HybridBatch) bags() [][]int64 {
	var bags [][]int64
	for i, at := range b.Offsets {
		end := len(b.Indices)
		if i+1 < len(b.Offsets) {
			end = b.Offsets[i+1]
		}
		bags = append(bags, b.Indices[at:end])
	}
	return bags
}

// Layer implements Case.
func (c *Hybrid) Layer() config.Layer {
	inputs, targets, sizes := [][]int64{}, []int64{}, []int{}
	for _, b := range c.Batches {
		inputs = append(inputs, b.bags()...)
		targets = append(targets, b.Targets...)
		sizes = append(sizes, len(b.Offsets))
	}
	return c.layer(map[string]any{
		"server": c.Server, "ddp_hook": "allreduce", "create_criterion": "cel", "epochs": 1, "model": "mlp",
		"data": "inline",
		"set": map[string]any{
			"trainer": map[string]any{"lr": c.LR},
			"server":  map[string]any{"num_embeddings": c.NumEmbeddings, "embedding_dim": c.EmbeddingDim, "lr": c.LR},
			"model":   map[string]any{"sizes": hybridSizes, "relu_after": hybridReLUAfter},
			"data":    map[string]any{"inputs": inputs, "targets": targets, "batches": sizes},
		},
	})
}

// Expected implements Case.
func (c *Hybrid) Expected() []Expected {
	ranks := []Expected{{Rank: 0, Losses: c.Expect.Loss, Params: c.Expect.Params[c.NServer:]}}
	for s := range c.NServer {
		ranks = append(ranks, Expected{Rank: 1 + s, Params: c.Expect.Params[s : s+1]})
	}
	return ranks
}
