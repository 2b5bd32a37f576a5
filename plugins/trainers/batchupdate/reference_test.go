package batchupdate

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/plugins/criteria"
	"github.com/psbench/psbench/plugins/models"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/plugins/servers"
	"github.com/psbench/psbench/plugins/trainers/internal/trainertest"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/optimizer"
)

// referenceCase is a run that PyTorch computed.
type referenceCase struct {
	Seed      uint64
	Trainers  int `json:"ntrainer"`
	BatchSize int `json:"batch_size"`
	Shape     [2]int
	Batches   int `json:"num_batches"`
	LR        float64
	Momentum  float64
	Tolerance trainertest.Tolerance
	Expect    struct {
		Loss   [][]float64
		Params []trainertest.Summary
	}
}

// Every reference case runs in this process with the real trainers, models, criteria and server. The hook calls the
// server directly.
func TestTrainingMatchesPyTorch(t *testing.T) {
	for _, name := range []string{"batch_update_t1", "batch_update_t3"} {
		for _, bucketBytes := range []int{Defaults.BucketBytes, 64} { // a single bucket, and one bucket per parameter
			for _, product := range []string{blas.Gonum, blas.OpenBLAS} {
				t.Run(fmt.Sprint(name, "/", product, "/", bucketBytes), func(t *testing.T) {
					if _, err := blas.Open(product, 1); err != nil {
						t.Skipf("this machine has no such library: %v", err)
					}
					var c referenceCase
					trainertest.Read(t, name, &c)
					c.run(t, product, bucketBytes)
				})
			}
		}
	}
}

func (c *referenceCase) run(t *testing.T, product string, bucketBytes int) {
	newModel := func() sdk.Model {
		m, err := models.NewMLP(models.MLPSettings{Sizes: c.Shape[:], Output: models.Linear, BLAS: product},
			sdk.ModelEnv{MaxBatch: c.BatchSize, Engine: engine.Host})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	trainers := make([]sdk.Trainer, c.Trainers)
	links := make([]*link, c.Trainers)
	var batches []int // by trainer
	env := sdk.ServerEnv{Name: "server", Trainers: c.Trainers, Recorder: &sdk.Recorder{}, Seed: c.Seed,
		Model: newModel(), Engine: engine.Host}
	for r := range trainers {
		var err error
		if trainers[r], err = New(Settings{dataparallel.BucketSettings{BucketBytes: bucketBytes}},
			sdk.TrainerEnv{Epochs: 1, Seed: c.Seed + 1, Server: "batch_update"}); err != nil {
			t.Fatal(err)
		}
		parts := trainertest.Parts(t, trainers[r], newModel())
		links[r] = newLink(r, parts.Buckets)
		parts.Hook, parts.Batches = links[r], sdk.NewBatches(c.share(r))
		if parts.Criterion, err = criteria.NewL1(struct{}{}, sdk.CriterionEnv{Engine: engine.Host}); err != nil {
			t.Fatal(err)
		}
		if err := trainers[r].Attach(parts); err != nil {
			t.Fatal(err)
		}
		batches = append(batches, c.Batches)
		env.Buckets = env.Buckets[:0]
		for _, b := range parts.Buckets {
			env.Buckets = append(env.Buckets, b.BucketSpec)
		}
	}
	server, err := servers.NewBatchUpdate(servers.BatchUpdateSettings{Settings: optimizer.Defaults(c.LR, c.Momentum)},
		env)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the warm-up and the measured pass
		server.Reset()
		if err := server.(sdk.Expecter).Expect(batches); err != nil {
			t.Fatal(err)
		}
		specs, held := server.(sdk.Holder).Held()
		var initial [][]float32
		for _, v := range held {
			initial = append(initial, slices.Clone(v.Data))
		}
		told := make([]trainertest.Told, c.Trainers)
		var group sync.WaitGroup
		for r, trainer := range trainers {
			links[r].server = server
			if err := trainer.Reset(); err != nil {
				t.Fatal(err)
			}
			group.Go(func() {
				if err := trainer.Train(t.Context(), &told[r]); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		for r := range trainers {
			c.Tolerance.RequireLosses(t, told[r].Losses, c.Expect.Loss[r])
		}
		for k, want := range c.Expect.Params {
			c.Tolerance.RequireTensor(t, specs[k].Name, initial[k], held[k].Data, want)
		}
	}
}

// share returns a trainer's batches, as defined in the comment of the program that made the cases.
func (c *referenceCase) share(rank int) []sdk.Batch {
	batches := make([]sdk.Batch, c.Batches)
	for step := range batches {
		b := &batches[step]
		b.Features, b.Targets = make([]float32, c.BatchSize*c.Shape[0]), make([]int64, c.BatchSize)
		splitmix.Uniform(c.Seed, uint64(1000+rank*c.Batches+step), b.Features, 1)
	}
	return batches
}

// link is a hook that passes buckets to a server in the same process.
type link struct {
	server   sdk.Server
	pushes   []sdk.Push
	promises []*comm.Promise
}

func newLink(trainer int, buckets []*tensor.Bucket) *link {
	l := &link{}
	for i, b := range buckets {
		promise := comm.NewPromise(nil)
		l.promises = append(l.promises, promise)
		l.pushes = append(l.pushes, sdk.NewPush(sdk.Push{Bucket: i, Trainer: trainer, Gradient: &b.Gradient},
			func(_ sdk.Push, g *tensor.Gradient) error {
				err := b.Gradient.CopyFrom(g)
				promise.Complete(err)
				return err
			}))
	}
	return l
}

func (l *link) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	promise, push := l.promises[b.Index], l.pushes[b.Index]
	promise.Begin()
	push.Batch = state.Batch()
	if err := l.server.Receive(push); err != nil {
		promise.Complete(err)
	}
	return promise.Future()
}

func (l *link) Reset() {}
