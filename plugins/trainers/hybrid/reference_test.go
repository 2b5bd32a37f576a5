package hybrid

import (
	"fmt"
	"slices"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/plugins/criteria"
	"github.com/psbench/psbench/plugins/models"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/plugins/servers"
	"github.com/psbench/psbench/plugins/trainers/internal/trainertest"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/optimizer"
)

// referenceCase is a run that PyTorch computed.
type referenceCase struct {
	Seed          uint64
	Servers       int `json:"nserver"`
	NumEmbeddings int `json:"num_embeddings"`
	EmbeddingDim  int `json:"embedding_dim"`
	LR            float64
	Batches       []struct{ Indices, Offsets, Targets []int64 }
	Tolerance     trainertest.Tolerance
	Expect        struct {
		Loss   []float64
		Params []trainertest.Summary // parameters of the tables, then of the model
	}
}

// identity is the hook of a single trainer.
type identity struct{ done *comm.Future }

func (h identity) Reduce(sdk.HookState, *tensor.Bucket) *comm.Future { return h.done }
func (h identity) Reset()                                            {}

// Every reference case runs in this process with the real trainer, model, criterion and servers.
func TestTrainingMatchesPyTorch(t *testing.T) {
	for _, name := range []string{"hybrid_t1_s2", "hybrid_t1_s4_wide"} {
		for _, lookup := range []string{"parallel", "serial"} {
			for _, product := range []string{blas.Gonum, blas.OpenBLAS} {
				t.Run(fmt.Sprint(name, "/", lookup, "/", product), func(t *testing.T) {
					if _, err := blas.Open(product, 1); err != nil {
						t.Skipf("this machine has no such library: %v", err)
					}
					var c referenceCase
					trainertest.Read(t, name, &c)
					c.run(t, lookup, product)
				})
			}
		}
	}
}

func (c *referenceCase) run(t *testing.T, lookup, product string) {
	var tables []sdk.TableServer
	var specs []comm.TableSpec
	for position := range c.Servers {
		s, err := servers.NewEmbedding(
			servers.EmbeddingSettings{NumEmbeddings: c.NumEmbeddings, EmbeddingDim: c.EmbeddingDim, Init: 1,
				Settings: optimizer.Defaults(c.LR, 0)},
			sdk.TableEnv{Position: position, Seed: c.Seed, Trainers: 1, Recorder: &sdk.Recorder{}, Engine: engine.Host})
		if err != nil {
			t.Fatal(err)
		}
		tables, specs = append(tables, s), append(specs, s.Table())
	}
	model, err := models.NewMLP(models.MLPSettings{Sizes: []int{512, 256, 128, 64, 32, 8}, Output: models.Linear,
		ReLUAfter: []int{2}, BLAS: product},
		sdk.ModelEnv{FirstTensor: c.Servers, MaxBatch: 1, Engine: engine.Host})
	if err != nil {
		t.Fatal(err)
	}
	trainer, err := New(Settings{Settings: optimizer.Defaults(c.LR, 0), Lookup: lookup,
		BucketSettings: Defaults.BucketSettings}, sdk.TrainerEnv{Epochs: 1, Seed: c.Seed})
	if err != nil {
		t.Fatal(err)
	}
	inputs, err := trainer.(sdk.InputPlanner).PlanInputs(model.Inputs(), specs)
	if err != nil {
		t.Fatal(err)
	}
	parts := trainertest.Parts(t, trainer, model)
	var batches []sdk.Batch
	for _, b := range c.Batches {
		batch := sdk.Batch{Indices: b.Indices, Offsets: append(slices.Clone(b.Offsets), int64(len(b.Indices))),
			Targets: b.Targets}
		if len(batch.Targets) != inputs.Targets*batch.Size() {
			t.Fatalf("a batch of %d bags has %d targets, planned are %d for each", batch.Size(), len(batch.Targets),
				inputs.Targets)
		}
		batches = append(batches, batch)
	}
	parts.Batches = sdk.NewBatches(batches)
	parts.Tables, parts.Hook = localTables(t, batches, tables...), identity{comm.Completed(nil)}
	if parts.Criterion, err = criteria.NewCrossEntropy(struct{}{},
		sdk.CriterionEnv{MaxBatch: 1, Engine: engine.Host}); err != nil {
		t.Fatal(err)
	}
	if err := trainer.Attach(parts); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the warm-up and the measured pass
		values, names := reset(t, tables, trainer, parts)
		initial := make([][]float32, len(values))
		for k, v := range values {
			initial[k] = slices.Clone(v)
		}
		var told trainertest.Told
		if err := trainer.Train(t.Context(), &told); err != nil {
			t.Fatal(err)
		}
		c.Tolerance.RequireLosses(t, told.Losses, c.Expect.Loss)
		if len(values) != len(c.Expect.Params) {
			t.Fatalf("there are %d tensors, PyTorch has %d", len(values), len(c.Expect.Params))
		}
		for k, want := range c.Expect.Params {
			c.Tolerance.RequireTensor(t, names[k], initial[k], values[k], want)
		}
	}
}

// reset begins a pass and returns the tables and the parameters.
func reset(t *testing.T, tables []sdk.TableServer, trainer sdk.Trainer,
	parts sdk.TrainerParts) (values [][]float32, names []string) {
	t.Helper()
	for i, s := range tables {
		s.Reset()
		_, held := s.(sdk.Holder).Held()
		values, names = append(values, held[0].Data), append(names, fmt.Sprint("table ", i))
	}
	if err := trainer.Reset(); err != nil {
		t.Fatal(err)
	}
	for k, v := range parts.Values {
		values, names = append(values, v.Data), append(names, parts.Model.Parameters()[k].Name)
	}
	return values, names
}
