// Command counting is a plugin whose parts record what is no duration: a server that does not
// wait, a trainer, a hook, a criterion, a model and data. But for the server and the data they are
// psbench's own, and count beside them.
package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/plugins"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugin"
)

func main() {
	plugin.Serve(slices.Concat(plugins.Parts(), []sdk.Part{
		sdk.Asynchronous(sdk.NewServer("counting", settings{}, newServer)),
		sdk.NewTrainer("counting", struct{}{}, newTrainer),
		sdk.NewHook("counting", struct{}{}, newHook, sdk.LinkServer),
		sdk.NewCriterion("counting", struct{}{}, newCriterion),
		sdk.NewModel("counting", struct{}{}, newModel),
		sdk.NewData("counting", struct{}{}, newData),
	})...)
}

// own makes psbench's own part of a kind, with settings in JSON.
func own[P any](kind sdk.Kind, key, settings string, env any) (P, error) {
	for _, part := range plugins.Parts() {
		if part.Kind == kind && part.Key == key {
			made, err := part.Build([]byte(settings), env)
			if err != nil {
				return *new(P), err
			}
			return made.(P), nil
		}
	}
	return *new(P), fmt.Errorf("psbench has no %s %s", kind, key)
}

type settings struct {
	Wrong string `json:"wrong" doc:"what is recorded wrongly: unit, twice, bounds or sum; empty: nothing"`
}

// server answers each trainer with its own gradient, at once.
type server struct {
	settings
	pushed    *sdk.Counter
	staleness *sdk.Gauge
	elements  *sdk.Histogram

	mu      sync.Mutex
	newest  []int64 // batch of each bucket
	behind  int
	arrived int
}

func newServer(s settings, env sdk.ServerEnv) (sdk.Server, error) {
	r := env.Recorder
	switch s.Wrong {
	case "unit":
		r.Gauge("counting_metric", "staleness", "a step")
	case "twice":
		r.Gauge("counting_metric", "pushed", "B")
	case "bounds":
		r.Histogram("counting_metric", "sizes", "1", 8, 4)
	}
	return &server{
		settings: s, newest: make([]int64, len(env.Buckets)),
		pushed:    r.Counter("counting_metric", "pushed", "B"),
		staleness: r.Gauge("counting_metric", "staleness", "steps"),
		elements:  r.Histogram("counting_metric", "elements of a push", "1", 1e3, 1e4, 1e5, 1e6, 1e7),
	}, nil
}

func (s *server) Receive(p sdk.Push) error {
	n := len(p.Gradient.Values)
	s.mu.Lock()
	s.newest[p.Bucket] = max(s.newest[p.Bucket], p.Batch)
	stale := s.newest[p.Bucket] - p.Batch
	s.arrived++
	if stale > 0 {
		s.behind++
	}
	s.mu.Unlock()
	s.pushed.Add(int64(4 * n))
	s.staleness.Record(sdk.Key{A: p.Batch, B: int64(p.Bucket)}, float64(stale))
	s.elements.Record(float64(n))
	if s.Wrong == "sum" {
		s.pushed.Add(-1)
	}
	return p.Answer(p.Gradient)
}

func (s *server) Reset() {
	clear(s.newest)
	s.behind, s.arrived = 0, 0
}

func (s *server) PassFacts() map[string]string {
	return map[string]string{"stale_pushes": fmt.Sprintf("%d of %d", s.behind, s.arrived)}
}

// trainer counts its passes' iterations.
type trainer struct {
	sdk.Trainer
	iterations *sdk.Counter
}

func newTrainer(_ struct{}, env sdk.TrainerEnv) (sdk.Trainer, error) {
	made, err := own[sdk.Trainer](sdk.KindTrainer, "ddp", "{}", env)
	return &trainer{Trainer: made}, err
}

func (t *trainer) Attach(parts sdk.TrainerParts) error {
	t.iterations = parts.Recorder.Counter("counting_metric", "iterations", "1")
	return t.Trainer.Attach(parts)
}

func (t *trainer) Train(ctx context.Context, report sdk.PassReport) error {
	return t.Trainer.Train(ctx, counted{report, t.iterations})
}

type counted struct {
	sdk.PassReport
	iterations *sdk.Counter
}

func (c counted) Loss(loss float64) {
	c.iterations.Add(1)
	c.PassReport.Loss(loss)
}

func (t *trainer) PassFacts() map[string]string {
	return map[string]string{"counted": fmt.Sprint(t.iterations.Value())}
}

// hook observes the norm of each gradient.
type hook struct {
	push func(int64, *tensor.Bucket) *comm.Future
	norm *sdk.Gauge
	sent *sdk.Counter
}

func newHook(_ struct{}, env sdk.HookEnv) (sdk.Hook, error) {
	return &hook{
		env.Server.PushPull, env.Recorder.Gauge("counting_metric", "norm of a gradient", "1"),
		env.Recorder.Counter("counting_metric", "sent", "B"),
	}, nil
}

func (h *hook) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	squares := 0.0
	for _, x := range b.Gradient.Values {
		squares += float64(x) * float64(x)
	}
	h.norm.Record(state.Key(b.Index), math.Sqrt(squares))
	h.sent.Add(int64(4 * len(b.Gradient.Values)))
	return h.push(state.Batch(), b)
}

func (h *hook) Reset() {}

func (h *hook) PassFacts() map[string]string {
	return map[string]string{"sent": fmt.Sprint(h.sent.Value(), " B")}
}

// criterion observes what is infinite where it has been asked five times.
type criterion struct {
	sdk.Criterion
	losses *sdk.Gauge
	asked  int64
}

func newCriterion(_ struct{}, env sdk.CriterionEnv) (sdk.Criterion, error) {
	made, err := own[sdk.Criterion](sdk.KindCriterion, "cel", "{}", env)
	return &criterion{Criterion: made, losses: env.Recorder.Gauge("counting_metric", "loss", "nats")}, err
}

func (c *criterion) Forward(output tensor.Tensor, targets []int64) (float64, error) {
	loss, err := c.Criterion.Forward(output, targets)
	seen := loss
	if c.asked++; c.asked%5 == 0 {
		seen = math.Inf(1)
	}
	c.losses.Record(sdk.Key{A: c.asked}, seen)
	return loss, err
}

// model counts samples.
type model struct {
	sdk.Model
	samples *sdk.Counter
}

func newModel(_ struct{}, env sdk.ModelEnv) (sdk.Model, error) {
	made, err := own[sdk.Model](sdk.KindModel, "dummy", `{"dense_layers_count": 2}`, env)
	return &model{made, env.Recorder.Counter("counting_metric", "samples", "rows")}, err
}

// Initialize counts what no pass has.
func (m *model) Initialize(seed uint64) {
	m.samples.Add(1000)
	m.Model.Initialize(seed)
}

func (m *model) Forward(b *sdk.Batch) (tensor.Tensor, error) {
	m.samples.Add(int64(b.Size()))
	return m.Model.Forward(b)
}

func (m *model) PassFacts() map[string]string {
	return map[string]string{"seen": fmt.Sprint(m.samples.Value(), " samples")}
}

// data streams forty samples.
type data struct {
	in   sdk.InputSpec
	read *sdk.Counter
}

const samples = 40

func newData(_ struct{}, env sdk.DataEnv) (sdk.Data, error) {
	return &data{read: env.Recorder.Counter("counting_metric", "read", "rows")}, nil
}

func (d *data) Fit(in sdk.InputSpec)            { d.in = in }
func (d *data) Load() (*sdk.Samples, error)     { return nil, nil }
func (d *data) Open() (sdk.SampleReader, error) { return &reader{data: d}, nil }
func (d *data) PassFacts() map[string]string {
	return map[string]string{"rows_dropped": fmt.Sprintf("0 of %d", samples)}
}

type reader struct {
	*data
	at int
}

func (r *reader) Read(b *sdk.Batch, n int) error {
	if r.at == samples {
		return io.EOF
	}
	*b = sdk.Batch{}
	for end := min(r.at+n, samples); r.at < end; r.at++ {
		b.Append([]int64{int64(r.at % r.in.Rows)}, int64(r.at%r.in.Classes))
	}
	r.read.Add(int64(b.Size()))
	return nil
}

func (r *reader) Skip(n int) error {
	r.at = min(r.at+n, samples)
	return nil
}

func (r *reader) Origin(sample, _ int) string { return fmt.Sprintf("sample %d", sample) }
func (r *reader) Close() error                { return nil }
