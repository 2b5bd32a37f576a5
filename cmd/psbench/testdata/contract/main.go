// Command contract is a plugin with a part of each kind, which is kept as it was when the contract's
// major version began, as is the sdk that it is built with.
package main

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugin"
)

func main() {
	plugin.Serve(
		sdk.NewElementwiseServer("kept", sdk.OnArrival, struct{}{}, newServer),
		sdk.Asynchronous(sdk.NewServer("kept_eager", struct{}{}, newEager)),
		sdk.NewTableServer("kept_table", tableDefaults, newTable),
		sdk.NewTrainer("kept", trainerDefaults, newTrainer),
		sdk.NewHook("kept", struct{}{}, newHook, sdk.LinkGroup),
		sdk.NewHook("kept_push", struct{}{}, newHook, sdk.LinkServer),
		sdk.NewCriterion("kept", criterionDefaults, newCriterion),
		sdk.NewModel("kept", modelDefaults, newModel),
		sdk.NewData("kept", dataDefaults, newData),
	)
}

// server averages, as psbench's own does.
type server struct{ share float32 }

func newServer(_ struct{}, env sdk.ServerEnv) (sdk.ElementwiseServer, error) {
	return server{1 / float32(env.Trainers)}, nil
}

func (s server) Combine(sum []float32, others [][]float32) {
	for _, other := range others {
		vec.Add(sum, other)
	}
}

func (s server) Finish(sum []float32) { vec.Scale(s.share, sum) }

// eager answers each push with what was pushed.
type eager struct{}

func newEager(struct{}, sdk.ServerEnv) (sdk.Server, error) { return eager{}, nil }

func (eager) Reset() {}

func (eager) Receive(p sdk.Push) error { return p.Answer(p.Gradient) }

// hook averages over the link that it is declared with.
type hook struct{ env sdk.HookEnv }

func newHook(_ struct{}, env sdk.HookEnv) (sdk.Hook, error) { return hook{env}, nil }

func (h hook) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	if h.env.Server != nil {
		return h.env.Server.PushPull(state.Batch(), b)
	}
	return h.env.Group.Average(state.Batch(), b)
}

func (hook) Reset() {}

type tableSettings struct {
	NumEmbeddings int     `json:"num_embeddings" doc:"rows of the table"`
	EmbeddingDim  int     `json:"embedding_dim" doc:"columns of the table"`
	LR            float64 `json:"lr" doc:"learning rate"`
}

var tableDefaults = tableSettings{300, 256, 0.05}

// table is stepped by plain SGD.
type table struct {
	tableSettings
	rows    []float32
	stepped *sdk.Counter
}

func newTable(s tableSettings, env sdk.TableEnv) (sdk.TableServer, error) {
	if s.NumEmbeddings < 1 || s.EmbeddingDim < 1 {
		return nil, fmt.Errorf("settings num_embeddings and embedding_dim are %d and %d but must be at least 1",
			s.NumEmbeddings, s.EmbeddingDim)
	}
	return &table{tableSettings: s, stepped: env.Recorder.Counter("embedding_metric", "rows stepped", "rows")}, nil
}

func (t *table) Table() comm.TableSpec {
	return comm.TableSpec{Rows: t.NumEmbeddings, Width: t.EmbeddingDim}
}

func (t *table) Reset() {
	t.rows = make([]float32, t.NumEmbeddings*t.EmbeddingDim)
	for i := range t.rows {
		t.rows[i] = float32(i%7) / 7
	}
}

func (t *table) Lookup(call *comm.TableCall) error {
	for i := range call.Bags() {
		vec.GatherSum(call.Columns(i), t.rows, t.EmbeddingDim, call.Bag(i))
	}
	return nil
}

func (t *table) Update(call *comm.TableCall) error {
	for i := range call.Bags() {
		for _, row := range call.Bag(i) {
			at := int(row) * t.EmbeddingDim
			vec.Axpy(-float32(t.LR), call.Columns(i), t.rows[at:at+t.EmbeddingDim])
		}
		t.stepped.Add(int64(len(call.Bag(i))))
	}
	return nil
}
