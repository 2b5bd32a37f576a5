package verify

import (
	"fmt"

	"github.com/psbench/psbench/core/plan/config"
)

// DDP is a case of data-parallel training of the dummy model.
type DDP struct {
	Header
	Server    *string   `json:"server"` // null without servers
	Hook      string    `json:"ddp_hook"`
	Epochs    int       `json:"epochs"`
	BatchSize int       `json:"batch_size"`
	LR        float64   `json:"lr"`
	Model     Model     `json:"model"`
	Data      Data      `json:"data"`
	Expect    DDPExpect `json:"expect"`
}

// Model holds the settings of the dummy model.
type Model struct {
	NumEmbeddings    int  `json:"num_embeddings"`
	EmbeddingDim     int  `json:"embedding_dim"`
	DenseInputSize   int  `json:"dense_input_size"`
	DenseOutputSize  int  `json:"dense_output_size"`
	DenseLayersCount int  `json:"dense_layers_count"`
	Sparse           bool `json:"sparse"`
}

// Data holds the samples: a bag of indices and a target each.
type Data struct {
	Inputs  [][]int64 `json:"inputs"`
	Targets []int64   `json:"targets"`
}

// DDPExpect is the expected result of the run, for each trainer: the loss of every iteration and the change of every
// parameter.
type DDPExpect struct {
	Loss   [][]float64   `json:"loss"`
	Params [][]Parameter `json:"params"`
}

func (c *DDP) check(file string) error {
	if len(c.Expect.Params) != c.NTrainer {
		return fmt.Errorf("%s: expect has parameters of %d trainers but ntrainer is %d",
			file, len(c.Expect.Params), c.NTrainer)
	}
	for t, params := range c.Expect.Params {
		if len(params) == 0 {
			return fmt.Errorf("%s: expect has no parameter of trainer%d", file, t)
		}
	}
	return c.checkLosses(file, c.Expect.Loss)
}

// Layer implements Case.
func (c *DDP) Layer() config.Layer {
	values := map[string]any{
		"ddp_hook": c.Hook, "epochs": c.Epochs, "batch_size": c.BatchSize, "model": "dummy", "data": "inline",
		"set": map[string]any{
			"trainer": map[string]any{"lr": c.LR},
			"model":   c.Model,
			"data":    c.Data,
		},
	}
	if c.Server != nil {
		values["server"] = *c.Server
	}
	return c.layer(values)
}

// Expected implements Case.
func (c *DDP) Expected() []Expected {
	var ranks []Expected
	for t := range c.Expect.Loss {
		ranks = append(ranks, Expected{Rank: t, Losses: c.Expect.Loss[t], Params: c.Expect.Params[t]})
	}
	return ranks
}
