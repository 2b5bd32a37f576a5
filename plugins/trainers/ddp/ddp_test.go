package ddp

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/plugins/trainers/internal/trainertest"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/dataparallel"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/optimizer"
)

// stub implements every part except the trainer: a model whose gradients become ready in the given order, a
// criterion, and a hook that records its calls.
type stub struct {
	specs  []sdk.ParameterSpec
	order  []int // order in which Backward emits gradients
	output tensor.Tensor
	// fails has, for each bucket that fails, the error of its future.
	fails map[int]error

	seeds   []uint64
	reduced []int
	keys    []sdk.Key
	done    *comm.Future
}

func (s *stub) Parameters() []sdk.ParameterSpec                { return s.specs }
func (s *stub) Inputs() sdk.InputSpec                          { return sdk.InputSpec{} }
func (s *stub) Bind([]tensor.Tensor, []*tensor.Gradient) error { return nil }
func (s *stub) Initialize(seed uint64)                         { s.seeds = append(s.seeds, seed) }
func (s *stub) Forward(*sdk.Batch) (tensor.Tensor, error)      { return s.output, nil }
func (s *stub) Backward(_ tensor.Tensor, emit func(int)) error {
	for _, k := range s.order {
		emit(k)
	}
	return nil
}

func (s *stub) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	s.reduced = append(s.reduced, b.Index)
	s.keys = append(s.keys, state.Key(b.Index))
	if err := s.fails[b.Index]; err != nil {
		return comm.Completed(err)
	}
	return s.done
}

func (s *stub) Reset() {}

// criterion always returns a loss of 1 and a gradient of 2.
type criterion struct{}

func (criterion) Forward(tensor.Tensor, []int64) (float64, error) { return 1, nil }
func (criterion) Backward(g tensor.Tensor) error {
	for i := range g.Data {
		g.Data[i] = 2
	}
	return nil
}

var basicMaps = map[sdk.Kind]string{
	sdk.KindDDPModel: "basic", sdk.KindHookState: "basic", sdk.KindIterationStep: "basic",
	sdk.KindPreprocessData: "dummy",
}

// newStub has three buckets: parameters 4 and 3, parameters 2 and 1, and parameter 0.
func newStub() *stub {
	return &stub{
		specs: []sdk.ParameterSpec{
			{Name: "embedding.weight", Shape: []int{16, 16}, Sparse: true},
			{Name: "fc0.weight", Shape: []int{16, 16}}, {Name: "fc0.bias", Shape: []int{16}},
			{Name: "fc1.weight", Shape: []int{16, 16}}, {Name: "fc1.bias", Shape: []int{16}},
		},
		order:  []int{4, 3, 2, 1, 0},
		output: tensor.New(2, 16), done: comm.Completed(nil),
	}
}

func attached(t *testing.T, s *stub, epochs, batches int) (*trainer, *sdk.Recorder) {
	t.Helper()
	return attachedWith(t, s, optimizer.Defaults(0.5, 0), epochs, batches)
}

func attachedWith(t *testing.T, s *stub, o optimizer.Settings, epochs, batches int) (*trainer, *sdk.Recorder) {
	t.Helper()
	made, err := New(Settings{o, dataparallel.BucketSettings{BucketBytes: 512}},
		sdk.TrainerEnv{Name: "trainer0", Epochs: epochs, Seed: 7, Maps: basicMaps})
	if err != nil {
		t.Fatal(err)
	}
	tr := made.(*trainer)
	plan, err := tr.Plan(s.specs)
	if err != nil {
		t.Fatal(err)
	}
	parts := sdk.TrainerParts{Engine: engine.Host, Model: s, Criterion: criterion{}, Hook: s,
		Batches: sdk.NewBatches(make([]sdk.Batch, batches)), Recorder: &sdk.Recorder{}}
	parts.Gradients = make([]*tensor.Gradient, len(s.specs))
	for _, p := range s.specs {
		parts.Values = append(parts.Values, tensor.New(p.Shape...))
	}
	for _, spec := range plan {
		spec.Capacity = spec.TableRows
		b := tensor.NewBucket(spec)
		parts.Buckets = append(parts.Buckets, b)
		for _, span := range b.Parameters {
			parts.Gradients[span.Parameter] = &b.Gradient
			if !b.Sparse {
				parts.Gradients[span.Parameter] = &tensor.Gradient{
					Values: b.Gradient.Values[span.Offset : span.Offset+span.Elements],
				}
			}
		}
	}
	if err := tr.Attach(parts); err != nil {
		t.Fatal(err)
	}
	if err := tr.Reset(); err != nil {
		t.Fatal(err)
	}
	return tr, parts.Recorder
}

func TestTrainRunsAllBatchesOfAllEpochs(t *testing.T) {
	s := newStub()
	tr, rec := attached(t, s, 2, 3)
	for pass := range 2 { // the warm-up and, after a reset, the measured pass: both start at batch 0
		s.reduced, s.keys = nil, nil
		rec.Reset()
		var report trainertest.Told
		if err := tr.Train(t.Context(), &report); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(trainertest.Told{Epochs: []int{0, 1}, Losses: []float64{1, 1, 1, 1, 1, 1}}, report); d != "" {
			t.Errorf("pass %d told %s", pass, d)
		}
		var keys []sdk.Key
		for batch := range int64(6) {
			keys = append(keys, sdk.Key{A: batch, B: 0}, sdk.Key{A: batch, B: 1}, sdk.Key{A: batch, B: 2})
		}
		if d := cmp.Diff(keys, s.keys); d != "" {
			t.Errorf("the keys of pass %d: %s", pass, d)
		}
		requireTimes(t, rec)
		if err := tr.Reset(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(s.seeds, []uint64{7, 7, 7}) {
		t.Errorf("the model was initialized with seeds %v", s.seeds)
	}
}

// The trainer preprocesses batches when the host requests it, not during training.
func TestPreprocessingIsNoPartOfTraining(t *testing.T) {
	var calls []int
	preprocessors["noting"] = func(rank int, batches []sdk.Batch) ([]sdk.Batch, error) {
		calls = append(calls, rank, len(batches))
		return batches[:1], nil
	}
	defer delete(preprocessors, "noting")
	maps := maps.Clone(basicMaps)
	maps[sdk.KindPreprocessData] = "noting"
	made, err := New(Defaults, sdk.TrainerEnv{Rank: 3, Maps: maps})
	if err != nil {
		t.Fatal(err)
	}
	got, err := made.(sdk.Preprocessor).Preprocess(make([]sdk.Batch, 5))
	if err != nil || len(got) != 1 || !slices.Equal(calls, []int{3, 5}) {
		t.Errorf("%d batches, %v, for calls with %v", len(got), err, calls)
	}
	tr, _ := attached(t, newStub(), 2, 3)
	tr.preprocess = preprocessors["noting"]
	if err := tr.Train(t.Context(), &trainertest.Told{}); err != nil {
		t.Fatal(err)
	}
	if len(calls) != 2 {
		t.Errorf("training preprocesses batches: %v", calls)
	}
}

// A reset clears the optimizer's state: the measured pass steps as the warm-up did.
func TestResetForgetsTheOptimizersState(t *testing.T) {
	tr, _ := attachedWith(t, newStub(), optimizer.Defaults(0.5, 0.5), 1, 2)
	weight, gradient := tr.parts.Values[4].Data, tr.parts.Gradients[4].Values
	for pass := range 2 {
		clear(weight) // the stub neither initializes nor computes anything
		gradient[0] = 1
		if err := tr.Train(t.Context(), &trainertest.Told{}); err != nil {
			t.Fatal(err)
		}
		if want := float32(-0.5 * (1 + 1.5)); weight[0] != want {
			t.Errorf("pass %d moves the parameter to %v, want %v", pass, weight[0], want)
		}
		if err := tr.Reset(); err != nil {
			t.Fatal(err)
		}
	}
}

// requireTimes requires one measurement per iteration in each series, keyed {epoch},{index}. Forward and backward
// must lie within the whole iteration.
func requireTimes(t *testing.T, rec *sdk.Recorder) {
	t.Helper()
	series := map[string][]sdk.Measurement{}
	for _, s := range rec.All().Series {
		s.Each(func(m sdk.Measurement) { series[s.Type+","+s.Name] = append(series[s.Type+","+s.Name], m) })
	}
	whole, forward, backward := series["batch_level_metric,batch_all"], series["forward_metric,forward_pass"],
		series["backward_metric,backward"]
	trainertest.RequireParts(t, series, "forward_metric,forward_pass", "iteration_metric,backward",
		"iteration_metric,exposed communication", "iteration_metric,optimizer")
	if len(series) != 7 || len(whole) != 6 || len(forward) != 6 || len(backward) != 6 {
		t.Fatalf("the series are %v", series)
	}
	for i, w := range whole {
		f, b := forward[i], backward[i]
		if key := (sdk.Key{A: int64(i / 3), B: int64(i % 3)}); w.Key != key || f.Key != key || b.Key != key {
			t.Errorf("iteration %d has keys %v, %v, %v", i, w.Key, f.Key, b.Key)
		}
		end := b.StartNS + b.DurationNS
		if f.StartNS != w.StartNS || b.StartNS != f.StartNS+f.DurationNS || end > w.StartNS+w.DurationNS {
			t.Errorf("iteration %d: forward %+v and backward %+v do not lie within %+v", i, f, b, w)
		}
	}
}

func TestBucketsStartInOrder(t *testing.T) {
	for name, c := range map[string]struct{ order, want []int }{
		"as they come":          {[]int{4, 3, 2, 1, 0}, []int{0, 1, 2}},
		"the last bucket first": {[]int{0, 4, 3, 2, 1}, []int{0, 1, 2}},
		"all backwards":         {[]int{0, 1, 2, 3, 4}, []int{0, 1, 2}},
		"the second before":     {[]int{1, 2, 4, 0, 3}, []int{0, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStub()
			s.order = c.order
			tr, _ := attached(t, s, 1, 1)
			if err := tr.Train(t.Context(), &trainertest.Told{}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !slices.Equal(s.reduced, c.want) {
				t.Errorf("%s: buckets started in order %v", name, s.reduced)
			}
		})
	}
}

func TestTrainFails(t *testing.T) {
	lost := &comm.PeerError{Waiter: "trainer0", Peer: "server1", What: "a push", Err: errors.New("gone")}
	s := newStub()
	s.fails = map[int]error{1: lost}
	tr, _ := attached(t, s, 1, 1)
	err := tr.Train(t.Context(), &trainertest.Told{})
	if !errors.Is(err, lost) || !strings.Contains(err.Error(), "trainer0, epoch 0, batch 0: ") {
		t.Errorf("a failed future gave %v", err)
	}
	if !slices.Equal(s.reduced, []int{0, 1, 2}) {
		t.Errorf("the futures of buckets %v were waited for", s.reduced)
	}

	s = newStub()
	s.order = []int{4, 3, 1, 0}
	tr, _ = attached(t, s, 1, 1)
	if err := tr.Train(t.Context(), &trainertest.Told{}); err == nil ||
		!strings.Contains(err.Error(), "1 gradients of bucket 1 missing") {
		t.Errorf("a model that leaves out a gradient gave %v", err)
	}

	tr, _ = attached(t, newStub(), 1, 1)
	trainertest.RequireCancelled(t, tr)
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Settings, map[sdk.Kind]string)
		want   string
	}{
		"lr": {func(s *Settings, _ map[sdk.Kind]string) { s.LR = 0 }, "lr is 0 but must be above 0"},
		"beta2": {func(s *Settings, _ map[sdk.Kind]string) { s.Beta2 = 0.5 },
			"beta2 is 0.5 but the optimizer sgd has none"},
		"bucket": {func(s *Settings, _ map[sdk.Kind]string) { s.BucketBytes = -1 },
			"bucket_bytes is -1 but must be above 0"},
		"model": {func(_ *Settings, m map[sdk.Kind]string) { m[sdk.KindDDPModel] = "fancy" },
			`the ddp trainer has no ddp_model "fancy"; it has [basic]`},
		"state": {func(_ *Settings, m map[sdk.Kind]string) { m[sdk.KindHookState] = "x" }, `no hook_state "x"`},
		"step": {func(_ *Settings, m map[sdk.Kind]string) { m[sdk.KindIterationStep] = "x" },
			`no iteration_step "x"`},
		"data": {func(_ *Settings, m map[sdk.Kind]string) { delete(m, sdk.KindPreprocessData) },
			`no preprocess_data ""; it has [dummy]`},
	} {
		t.Run(name, func(t *testing.T) {
			s, m := Defaults, map[sdk.Kind]string{}
			for k, v := range basicMaps {
				m[k] = v
			}
			c.change(&s, m)
			if _, err := New(s, sdk.TrainerEnv{Maps: m}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		})
	}
}

func TestAttachRefusesWeightDecayOfRows(t *testing.T) {
	s := Defaults
	s.WeightDecay = 0.1
	tr, err := New(s, sdk.TrainerEnv{Maps: basicMaps})
	if err != nil {
		t.Fatal(err)
	}
	err = tr.Attach(sdk.TrainerParts{
		Engine: engine.Host,
		Values: []tensor.Tensor{tensor.New(3, 2)}, Gradients: []*tensor.Gradient{{Width: 2}}, Recorder: &sdk.Recorder{},
	})
	if err == nil || !strings.Contains(err.Error(), "weight_decay is 0.1 but must be 0: the gradient of parameter 0") {
		t.Errorf("a sparse gradient beside weight decay gives %v", err)
	}
}

func TestIterationAllocatesNothing(t *testing.T) {
	s := newStub()
	s.reduced, s.keys = make([]int, 0, 1<<16), make([]sdk.Key, 0, 1<<16)
	tr, _ := attached(t, s, 1, 1)
	batch := &sdk.Batch{}
	step := func() {
		if _, err := tr.step(&tr.iteration, sdk.Key{}, batch); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if n := testing.AllocsPerRun(200, step); n != 0 {
		t.Errorf("an iteration allocates %v times", n)
	}
}
