package servers

import (
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// heldModel has one parameter per bucket. All parameters start at the seed.
type heldModel struct {
	sdk.Model
	engine engine.Engine
	specs  []sdk.ParameterSpec
	values []tensor.Tensor
}

func (m *heldModel) Parameters() []sdk.ParameterSpec { return m.specs }

func (m *heldModel) Bind(values []tensor.Tensor, _ []*tensor.Gradient) error {
	for k := range values {
		if err := values[k].Check(); err != nil {
			return err
		}
	}
	m.values = values
	return nil
}

func (m *heldModel) Initialize(seed uint64) {
	for _, v := range m.values {
		if err := engine.In(m.engine, v.Data, slices.Repeat([]float32{float32(seed)}, len(v.Data))); err != nil {
			panic(err)
		}
	}
}

// updateWorld is a batch-updating server with its trainers.
type updateWorld struct {
	server   sdk.Server
	recorder *sdk.Recorder
	specs    []tensor.BucketSpec
	batches  []int // number of batches of each trainer
	left     []int // batches left, by trainer
	batch    []int64
	pushed   []int         // buckets of the current batch, by trainer
	answers  [][][]float32 // last answers by trainer and bucket; nil while the trainer waits
	sent     [][]float64   // by trainer: element 0 of the gradients of the current batch
}

const heldSeed = 3

func newUpdateWorld(t interface{ Fatal(...any) }, s BatchUpdateSettings, buckets int, batches ...int) *updateWorld {
	return newUpdateWorldOn(engine.Host, t, s, buckets, batches...)
}

func newUpdateWorldOn(e engine.Engine, t interface{ Fatal(...any) }, s BatchUpdateSettings, buckets int,
	batches ...int) *updateWorld {
	w := &updateWorld{
		recorder: &sdk.Recorder{}, batches: batches, left: slices.Clone(batches), batch: make([]int64, len(batches)),
		pushed: make([]int, len(batches)), answers: make([][][]float32, len(batches)),
		sent: make([][]float64, len(batches)),
	}
	model := &heldModel{engine: e}
	for k := range buckets {
		model.specs = append(model.specs, sdk.ParameterSpec{Name: "p", Shape: []int{k + 1}})
		w.specs = append(w.specs,
			tensor.BucketSpec{Index: k, Elements: k + 1, Parameters: []tensor.Span{{Parameter: k, Elements: k + 1}}})
	}
	for i := range w.answers {
		w.answers[i], w.sent[i] = make([][]float32, buckets), make([]float64, buckets)
	}
	var err error
	w.server, err = NewBatchUpdate(s, sdk.ServerEnv{
		Name: "server9", Trainers: len(batches), Buckets: w.specs, Recorder: w.recorder, Seed: heldSeed, Model: model,
		Engine: e,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.server.Reset()
	w.expect(t, batches)
	return w
}

// expect sends the server the number of batches.
func (w *updateWorld) expect(t interface{ Fatal(...any) }, batches []int) {
	if err := w.server.(sdk.Expecter).Expect(batches); err != nil {
		t.Fatal(err)
	}
}

// push pushes a bucket filled with v.
func (w *updateWorld) push(trainer, bucket int, batch int64, v float32) error {
	g := tensor.NewGradient(w.specs[bucket])
	for i := range g.Values {
		g.Values[i] = v
	}
	w.answers[trainer][bucket] = nil
	return w.server.Receive(sdk.NewPush(sdk.Push{Batch: batch, Bucket: bucket, Trainer: trainer, Gradient: &g},
		func(_ sdk.Push, answer *tensor.Gradient) error {
			w.answers[trainer][bucket] = slices.Clone(answer.Values)
			return nil
		}))
}

func (w *updateWorld) waits(trainer int) bool {
	return w.pushed[trainer] == len(w.specs) &&
		slices.ContainsFunc(w.answers[trainer], func(a []float32) bool { return a == nil })
}
