package models

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/sdk"
)

// referenceCase is a training run that PyTorch computed.
type referenceCase struct {
	Seed      uint64
	Hook      string `json:"ddp_hook"`
	Trainers  int    `json:"ntrainer"`
	Servers   int    `json:"nserver"`
	Epochs    int
	BatchSize int `json:"batch_size"`
	LR        float64
	Model     DummySettings
	Data      struct {
		Inputs  [][]int64
		Targets []int64
	}
	Tolerance struct {
		Loss       float64 `json:"loss_rel"`
		DeltaHead  float64 `json:"delta_head_abs"`
		DeltaSumsq float64 `json:"delta_sumsq_rel"`
	}
	Expect struct {
		Loss   [][]float64
		Params [][]struct {
			DeltaSumsq float64   `json:"delta_sumsq"`
			DeltaHead  []float64 `json:"delta_head"`
			Head       []float64
		}
	}
}

// TestTrainingMatchesPyTorch trains every reference case of kind ddp with only the model and the criterion. Plain
// loops do the averaging and SGD.
func TestTrainingMatchesPyTorch(t *testing.T) {
	files, err := filepath.Glob("../../core/measure/verify/reference/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no reference cases were found: %v", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var of struct{ Kind string }
		if err := json.Unmarshal(raw, &of); err != nil {
			t.Fatal(err)
		}
		if of.Kind != "ddp" {
			continue
		}
		for _, c := range []struct{ engine, blas string }{
			{Layers, blas.Gonum}, {Layers, blas.OpenBLAS}, {Gorgonia, blas.Gonum}, {Gorgonia, blas.OpenBLAS},
		} {
			t.Run(filepath.Base(file)+"/"+c.engine+"/"+c.blas, func(t *testing.T) {
				var r referenceCase
				if err := json.Unmarshal(raw, &r); err != nil {
					t.Fatal(err)
				}
				r.Model.Engine = c.engine
				r.run(t, productsOf(t, c.blas))
			})
		}
	}
}

func (c *referenceCase) run(t *testing.T, b blas.BLAS) {
	replicas := make([]*replica, c.Trainers)
	for r := range replicas {
		replicas[r] = newReplica(t, c.Model, c.BatchSize, b)
		replicas[r].model.Initialize(c.Seed)
	}
	batches := c.batches()
	for step := range c.Epochs * len(batches) / c.Trainers {
		for rank, r := range replicas {
			batch := batches[(step*c.Trainers+rank)%len(batches)]
			loss := r.forward(t, batch)
			if want := c.Expect.Loss[rank][step]; math.Abs(loss-want) > c.Tolerance.Loss*math.Abs(want) {
				t.Errorf("trainer %d, step %d: loss is %.9g, PyTorch has %.9g", rank, step, loss, want)
			}
			r.backward(t, batch)
		}
		for rank, r := range replicas {
			for k := range r.params {
				for i, g := range c.mean(replicas, rank, k) {
					r.params[k].Data[i] -= float32(c.LR) * g
				}
			}
		}
	}
	for rank, r := range replicas {
		c.compare(t, rank, r)
	}
}

func (c *referenceCase) batches() []*sdk.Batch {
	var out []*sdk.Batch
	for i, input := range c.Data.Inputs {
		if i%c.BatchSize == 0 {
			out = append(out, &sdk.Batch{})
		}
		out[len(out)-1].Append(input, c.Data.Targets[i])
	}
	return out
}

// mean averages gradient k over the trainers that the hook connects with rank: all, or those of its server.
func (c *referenceCase) mean(replicas []*replica, rank, k int) []float32 {
	peers := replicas
	if c.Hook == "rpc" || (c.Hook == "sparse_rpc" && c.Model.Sparse && k == 0) {
		size := c.Trainers / c.Servers
		first := rank / size * size
		peers = replicas[first : first+size]
	}
	mean := make([]float32, len(replicas[0].params[k].Data))
	for _, peer := range peers {
		for i, g := range peer.spread(k) {
			mean[i] += g / float32(len(peers))
		}
	}
	return mean
}

func (c *referenceCase) compare(t *testing.T, rank int, r *replica) {
	initial := newReplica(t, c.Model, 1, r.model.engine)
	initial.model.Initialize(c.Seed)
	for k, want := range c.Expect.Params[rank] {
		var sumsq float64
		for i, v := range r.params[k].Data {
			delta := float64(v) - float64(initial.params[k].Data[i])
			sumsq += delta * delta
			if i >= len(want.DeltaHead) {
				continue
			}
			if math.Abs(delta-want.DeltaHead[i]) > c.Tolerance.DeltaHead ||
				math.Abs(float64(v)-want.Head[i]) > c.Tolerance.DeltaHead {
				t.Errorf("trainer %d, parameter %d, element %d: moved by %g to %g, in PyTorch by %g to %g",
					rank, k, i, delta, v, want.DeltaHead[i], want.Head[i])
			}
		}
		if math.Abs(sumsq-want.DeltaSumsq) > c.Tolerance.DeltaSumsq*want.DeltaSumsq {
			t.Errorf("trainer %d, parameter %d: the squares of its change add up to %g, in PyTorch to %g", rank, k,
				sumsq, want.DeltaSumsq)
		}
	}
}
