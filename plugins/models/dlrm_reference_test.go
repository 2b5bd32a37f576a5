package models

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/plugins/criteria"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/optimizer"
)

// dlrmReference is a training run that PyTorch computed with plugins/testdata/dlrm.py.
type dlrmReference struct {
	Model   DLRMSettings
	Seed    uint64
	LR      float64
	Batches []struct {
		Features         []float32
		Indices, Targets []int64
	}
	Losses  []float64
	Squares []float64 `json:"squares_of_change"` // summed over each parameter
}

func TestDLRMTrainsAsPyTorchDoes(t *testing.T) {
	raw, err := os.ReadFile("testdata/dlrm.json")
	if err != nil {
		t.Fatal(err)
	}
	var c dlrmReference
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	for _, engineName := range []string{blas.Gonum, blas.Native, blas.OpenBLAS} {
		for _, sparse := range []bool{false, true} {
			t.Run(engineName, func(t *testing.T) {
				_ = productsOf(t, engineName)
				s := c.Model
				s.Tables, s.Sparse, s.BLAS = TablesInModel, sparse, engineName
				c.train(t, s)
			})
		}
	}
}

func (c *dlrmReference) train(t *testing.T, s DLRMSettings) {
	r := newRecommender(t, s, sdk.ModelEnv{Engine: engine.Host})
	r.Initialize(c.Seed)
	var initial [][]float32
	for _, v := range r.params {
		initial = append(initial, slices.Clone(v.Data))
	}
	criterion, err := criteria.NewBinaryCrossEntropy(struct{}{}, sdk.CriterionEnv{Engine: engine.Host})
	if err != nil {
		t.Fatal(err)
	}
	steps, err := optimizer.New(engine.Host, optimizer.Defaults(c.LR, 0), r.params, r.grads)
	if err != nil {
		t.Fatal(err)
	}
	for i, given := range c.Batches {
		b := &sdk.Batch{Features: given.Features, Indices: given.Indices, Targets: given.Targets}
		for k := range len(given.Targets) + 1 {
			b.Offsets = append(b.Offsets, int64(k*len(s.TableRows)))
		}
		output, err := r.Forward(b)
		if err != nil {
			t.Fatal(err)
		}
		loss, err := criterion.Forward(output, b.Targets)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(loss-c.Losses[i]) > 1e-5*c.Losses[i] {
			t.Errorf("step %d: the loss is %.9g, in PyTorch %.9g", i, loss, c.Losses[i])
		}
		upstream := tensor.New(output.Shape...)
		if err := criterion.Backward(upstream); err != nil {
			t.Fatal(err)
		}
		if err := r.Backward(upstream, r.emit); err != nil {
			t.Fatal(err)
		}
		if err := steps.Step(); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.Squares) != len(r.params) {
		t.Fatalf("there are %d parameters, in PyTorch %d", len(r.params), len(c.Squares))
	}
	order := append([]int{r.settings.Embedding()}, r.layerParameters()...) // PyTorch lists the stack first
	for n, want := range c.Squares {
		var got float64
		k := order[n]
		for i, v := range r.params[k].Data {
			change := float64(v) - float64(initial[k][i])
			got += change * change
		}
		if math.Abs(got-want) > 1e-4*want {
			t.Errorf("the squares of the change of %s add up to %g, in PyTorch to %g", r.Parameters()[k].Name, got,
				want)
		}
	}
}
