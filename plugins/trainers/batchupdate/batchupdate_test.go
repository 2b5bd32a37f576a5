package batchupdate

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/plugins/trainers/internal/trainertest"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
)

// stub implements every part except the trainer. The stub's model has two parameters, each in its own bucket. The
// stub's gradients are 1, and its hook answers with 10*batch + bucket.
type stub struct {
	values    []tensor.Tensor
	gradients []*tensor.Gradient
	output    tensor.Tensor
	silent    bool // Backward emits nothing
	fails     error

	pushed []string
	seen   []float32 // element 0 of the last parameter in each Forward
	sent   []float32 // element 0 of each bucket pushed
	quiet  bool      // records nothing
	done   *comm.Future
}

func newStub() *stub { return &stub{output: tensor.New(2, 3), done: comm.Completed(nil)} }

func (s *stub) Parameters() []sdk.ParameterSpec {
	return []sdk.ParameterSpec{{Name: "weight", Shape: []int{3, 2}}, {Name: "bias", Shape: []int{3}}}
}
func (s *stub) Inputs() sdk.InputSpec { return sdk.InputSpec{} }
func (s *stub) Bind(values []tensor.Tensor, gradients []*tensor.Gradient) error {
	s.values, s.gradients = values, gradients
	return nil
}
func (s *stub) Initialize(seed uint64) { s.values[1].Data[0] = float32(seed) }

func (s *stub) Forward(*sdk.Batch) (tensor.Tensor, error) {
	if !s.quiet {
		s.seen = append(s.seen, s.values[1].Data[0])
	}
	return s.output, nil
}

func (s *stub) Backward(_ tensor.Tensor, emit func(int)) error {
	for k := 1; k >= 0; k-- {
		for i := range s.gradients[k].Values {
			s.gradients[k].Values[i] = 1
		}
		if !s.silent {
			emit(k)
		}
	}
	return nil
}

func (s *stub) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	if !s.quiet {
		s.pushed = append(s.pushed, state.Key(b.Index).String())
		s.sent = append(s.sent, b.Gradient.Values[0])
	}
	if s.fails != nil {
		return comm.Completed(s.fails)
	}
	for i := range b.Gradient.Values {
		b.Gradient.Values[i] = float32(10*state.Batch()) + float32(b.Index)
	}
	return s.done
}

func (s *stub) Reset() {}

// criterion always returns a loss of 1.
type criterion struct{}

func (criterion) Forward(tensor.Tensor, []int64) (float64, error) { return 1, nil }
func (criterion) Backward(tensor.Tensor) error                    { return nil }

func attached(t *testing.T, s *stub, epochs, batches int) (*trainer, *sdk.Recorder) {
	t.Helper()
	made, err := New(Settings{dataparallel.BucketSettings{BucketBytes: 4}},
		sdk.TrainerEnv{Name: "trainer1", Epochs: epochs, Seed: 7, Server: "batch_update"})
	if err != nil {
		t.Fatal(err)
	}
	parts := trainertest.Parts(t, made, s)
	parts.Criterion, parts.Hook, parts.Batches = criterion{}, s, sdk.NewBatches(make([]sdk.Batch, batches))
	if err := made.Attach(parts); err != nil {
		t.Fatal(err)
	}
	if err := made.Reset(); err != nil {
		t.Fatal(err)
	}
	return made.(*trainer), parts.Recorder
}

// The first batch pushes zeros and fetches the model. Each later batch computes with the answer to the previous
// batch's gradients.
func TestParametersComeFromTheServer(t *testing.T) {
	s := newStub()
	tr, rec := attached(t, s, 2, 2)
	for pass := range 2 {
		s.pushed, s.seen, s.sent = nil, nil, nil
		rec.Reset()
		var told trainertest.Told
		if err := tr.Train(t.Context(), &told); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(trainertest.Told{Epochs: []int{0, 1}, Losses: []float64{1, 1, 1, 1}}, told); d != "" {
			t.Errorf("pass %d told %s", pass, d)
		}
		if d := cmp.Diff([]string{"0,0", "0,1", "1,0", "1,1", "2,0", "2,1", "3,0", "3,1", "4,0", "4,1"},
			s.pushed); d != "" {
			t.Errorf("pass %d pushed %s", pass, d)
		}
		if d := cmp.Diff([]float32{0, 0, 1, 1, 1, 1, 1, 1, 1, 1}, s.sent); d != "" {
			t.Errorf("pass %d sent gradients %s", pass, d)
		}
		if d := cmp.Diff([]float32{0, 10, 20, 30}, s.seen); d != "" {
			t.Errorf("pass %d computed with parameters %s", pass, d)
		}
		if got := s.values[0].Data[5]; got != 41 {
			t.Errorf("pass %d ends with the parameter %v", pass, got)
		}
		requireTimes(t, rec)
		if err := tr.Reset(); err != nil {
			t.Fatal(err)
		}
		if s.values[1].Data[0] != 7 {
			t.Error("a reset does not initialize the model")
		}
	}
}

// requireTimes requires one measurement per iteration in each series, keyed {epoch},{index}, with consistent times.
func requireTimes(t *testing.T, rec *sdk.Recorder) {
	t.Helper()
	series := trainertest.Series(rec)
	if fetched := series["batch_update_metric,fetching the model"]; len(fetched) != 1 || fetched[0].Key != (sdk.Key{}) {
		t.Errorf("fetching the model is %v", fetched)
	}
	trainertest.RequireParts(t, series, "forward_metric,forward_pass", "iteration_metric,backward",
		"iteration_metric,exposed communication", "iteration_metric,parameters")
	end := func(m sdk.Measurement) int64 { return m.StartNS + m.DurationNS }
	for i, whole := range series["batch_level_metric,batch_all"] {
		of := map[string]sdk.Measurement{}
		for _, name := range []string{"forward_metric,forward_pass", "backward_metric,backward",
			"batch_update_metric,processing one batch", "batch_update_metric,reporting grads"} {
			if len(series[name]) != 4 || series[name][i].Key != (sdk.Key{A: int64(i / 2), B: int64(i % 2)}) {
				t.Fatalf("%s is %v", name, series[name])
			}
			of[strings.Split(name, ",")[1]] = series[name][i]
		}
		forward, backward, processing, reporting := of["forward_pass"], of["backward"], of["processing one batch"],
			of["reporting grads"]
		if forward.StartNS != whole.StartNS || processing.StartNS != whole.StartNS ||
			backward.StartNS != end(forward) ||
			reporting.StartNS != end(processing) || end(reporting) != end(whole) || end(backward) > end(whole) ||
			end(processing) > end(backward) {
			t.Errorf("iteration %d: %+v do not lie within %+v", i, of, whole)
		}
	}
	if n := len(series["batch_level_metric,batch_all"]); n != 4 || len(series) != 10 {
		t.Errorf("there are %d iterations in %d series", n, len(series))
	}
}

func TestTrainFails(t *testing.T) {
	lost := &comm.PeerError{Waiter: "trainer1", Peer: "server3", What: "an answer", Err: errors.New("gone")}
	s := newStub()
	s.fails = lost
	tr, _ := attached(t, s, 1, 1)
	if err := tr.Train(t.Context(), &trainertest.Told{}); !errors.Is(err, lost) ||
		!strings.Contains(err.Error(), "trainer1, fetching the model: ") {
		t.Errorf("a fetch that fails gives %v", err)
	}
	s = newStub()
	s.silent = true
	tr, _ = attached(t, s, 1, 1)
	if err := tr.Train(t.Context(), &trainertest.Told{}); err == nil ||
		!strings.Contains(err.Error(),
			"trainer1, epoch 0, batch 0: the model ended backward with 1 gradients of bucket 0 missing") {
		t.Errorf("a model that leaves out its gradients gives %v", err)
	}
	tr, _ = attached(t, newStub(), 1, 1)
	trainertest.RequireCancelled(t, tr)
}

func TestRefuses(t *testing.T) {
	if _, err := New(Defaults, sdk.TrainerEnv{}); err == nil ||
		!strings.Contains(err.Error(), "gets its model from a server but the run has none") {
		t.Errorf("without a server: %v", err)
	}
	if _, err := New(Settings{}, sdk.TrainerEnv{Server: "x"}); err == nil ||
		!strings.Contains(err.Error(), "bucket_bytes is 0 but must be above 0") {
		t.Errorf("without a size: %v", err)
	}
	tr, err := New(Defaults, sdk.TrainerEnv{Server: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Plan([]sdk.ParameterSpec{{Name: "table", Shape: []int{2, 2}, Sparse: true}}); err == nil ||
		!strings.Contains(err.Error(), "parameter table has a sparse gradient") {
		t.Errorf("with a sparse parameter: %v", err)
	}
	if parts := Parts(); len(parts) != 1 || parts[0].Kind != sdk.KindTrainer || parts[0].Key != "batch_update" {
		t.Errorf("parts are %+v", parts)
	}
}

func TestIterationAllocatesNothing(t *testing.T) {
	s := newStub()
	s.quiet = true
	tr, _ := attached(t, s, 1, 1)
	batch := &sdk.Batch{}
	step := func() {
		if _, err := tr.step(sdk.Key{}, batch); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if n := testing.AllocsPerRun(200, step); n != 0 {
		t.Errorf("an iteration allocates %v times", n)
	}
}
