// Package verify compares runs of psbench with reference cases: training runs
// that another implementation computed.
package verify

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/config"
	"github.com/psbench/psbench/core/jsonfile"
)

// caseKind is the kind of case that psbench verifies.
const caseKind = "ddp"

// Case is one reference file: a small training run, what it must come to and
// how closely.
type Case struct {
	Name      string    `json:"name"`
	Kind      string    `json:"kind"` // ddp
	Seed      uint64    `json:"seed"`
	Trainer   string    `json:"trainer"`
	Server    *string   `json:"server"` // null without servers
	Hook      string    `json:"ddp_hook"`
	NTrainer  int       `json:"ntrainer"`
	NServer   int       `json:"nserver"`
	Epochs    int       `json:"epochs"`
	BatchSize int       `json:"batch_size"`
	LR        float64   `json:"lr"`
	Model     Model     `json:"model"`
	Data      Data      `json:"data"`
	Tolerance Tolerance `json:"tolerance"`
	Expect    Expect    `json:"expect"`
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

// Tolerance says how closely a run must agree: losses and sums of squares
// relatively, single elements absolutely.
type Tolerance struct {
	LossRel       float64 `json:"loss_rel"`
	DeltaHeadAbs  float64 `json:"delta_head_abs"`
	DeltaSumSqRel float64 `json:"delta_sumsq_rel"`
}

// Expect is what the run must come to, per trainer: the loss of every
// iteration, and what training changed in every parameter.
type Expect struct {
	Loss   [][]float64   `json:"loss"`
	Params [][]Parameter `json:"params"`
}

// Parameter is what training changed in one tensor, delta = final - initial.
type Parameter struct {
	DeltaSum   float64   `json:"delta_sum"`
	DeltaSumSq float64   `json:"delta_sumsq"`
	DeltaHead  []float64 `json:"delta_head"`
	Head       []float64 `json:"head"`
}

//go:embed reference/*.json
var reference embed.FS

// Embedded lists the cases that psbench carries, by name.
func Embedded() ([]*Case, error) {
	files, err := fs.Glob(reference, "reference/*.json")
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var cases []*Case
	for _, f := range files {
		raw, err := reference.ReadFile(f)
		if err != nil {
			return nil, err
		}
		c, err := parse(path.Base(f), raw)
		if err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// Load reads the case in a file.
func Load(file string) (*Case, error) {
	raw, err := jsonfile.Read(file)
	if err != nil {
		return nil, err
	}
	return parse(file, raw)
}

func parse(name string, raw []byte) (*Case, error) {
	// A case of another kind has other keys: its kind says so better than they.
	fields, err := jsonfile.Map(name, raw)
	if err != nil {
		return nil, err
	}
	if kind, given := fields["kind"]; given && kind != caseKind {
		return nil, fmt.Errorf("%s: kind is %q but psbench verifies cases of kind %q", name, kind, caseKind)
	}
	c := &Case{}
	if err := jsonfile.Decode(name, raw, c); err != nil {
		return nil, err
	}
	return c, c.check(name)
}

// check finds what would make the comparison meaningless; the rest is checked
// like any other configuration.
func (c *Case) check(file string) error {
	switch t := c.Tolerance; {
	case c.Name == "":
		return fmt.Errorf("%s has no name", file)
	case c.Kind != caseKind:
		return fmt.Errorf("%s has no kind", file)
	case t.LossRel <= 0 || t.DeltaHeadAbs <= 0 || t.DeltaSumSqRel <= 0:
		return fmt.Errorf("%s: tolerance needs loss_rel, delta_head_abs and delta_sumsq_rel above 0", file)
	case len(c.Expect.Loss) != c.NTrainer || len(c.Expect.Params) != c.NTrainer:
		return fmt.Errorf("%s: expect has losses of %d and parameters of %d trainers but ntrainer is %d",
			file, len(c.Expect.Loss), len(c.Expect.Params), c.NTrainer)
	}
	return nil
}

// Layer is the case as a layer of configuration values.
func (c *Case) Layer() config.Layer {
	values := map[string]any{
		"trainer": c.Trainer, "ddp_hook": c.Hook, "ntrainer": c.NTrainer, "nserver": c.NServer,
		"epochs": c.Epochs, "batch_size": c.BatchSize, "torch_seed": c.Seed,
		"model": "dummy", "data": "inline",
		"set": map[string]any{
			"trainer": map[string]any{"lr": c.LR},
			"model":   c.Model,
			"data":    c.Data,
		},
	}
	if c.Server != nil {
		values["server"] = *c.Server
	}
	return config.Layer{Origin: "case " + strings.TrimSpace(c.Name), Values: values}
}
