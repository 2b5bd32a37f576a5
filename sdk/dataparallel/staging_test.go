package dataparallel

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/engine/enginetest"
)

// patience is a timeout that no test should reach.
const patience = 20 * time.Second

func must(t interface {
	Helper()
	Fatal(...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// doubling is a hook that doubles the gradients and adds a row to a sparse bucket, unless it fails.
type doubling struct {
	reduced []int
	fails   error
	done    *comm.Future // returned instead of the hook's own future
}

func (h *doubling) Reset() {}
func (h *doubling) Reduce(_ sdk.HookState, b *tensor.Bucket) *comm.Future {
	h.reduced = append(h.reduced, b.Index)
	if b.Sparse {
		if err := b.Gradient.SetRows(len(b.Gradient.Rows) + 1); err != nil {
			return comm.Completed(err)
		}
		last := len(b.Gradient.Rows) - 1
		b.Gradient.Rows[last] = int32(b.TableRows - 1)
		copy(b.Gradient.Values[last*b.Width:], []float32{50, 60})
	}
	for i := range b.Gradient.Values {
		b.Gradient.Values[i] *= 2
	}
	if h.done != nil {
		return h.done
	}
	return comm.Completed(h.fails)
}

// staged is a rank whose gradients lie in an engine's memory: a table and three dense parameters.
// Two dense parameters form the first bucket.
type staged struct {
	parts sdk.TrainerParts
	hook  doubling
	state HookState
	*Reducer
}

func newStaged(t interface {
	Helper()
	Fatal(...any)
}, e engine.Engine, parameters bool) *staged {
	t.Helper()
	specs := []sdk.ParameterSpec{
		{Name: "table", Shape: []int{5, 2}, Sparse: true}, {Name: "a", Shape: []int{3}}, {Name: "b", Shape: []int{2}},
		{Name: "c", Shape: []int{4}},
	}
	plan := []tensor.BucketSpec{
		{Index: 0, Elements: 6,
			Parameters: []tensor.Span{{Parameter: 3, Elements: 4}, {Parameter: 2, Offset: 4, Elements: 2}}},
		{Index: 1, Elements: 3, Parameters: []tensor.Span{{Parameter: 1, Elements: 3}}},
		{Index: 2, Elements: 10, Parameters: []tensor.Span{{Parameter: 0, Elements: 10}}, Sparse: true, TableRows: 5,
			Width: 2, Capacity: 5},
	}
	s := &staged{state: NewHookState()}
	s.parts = sdk.TrainerParts{Engine: e, Hook: &s.hook, Buckets: comm.NewStore(plan).Buckets,
		Recorder: &sdk.Recorder{}}
	var err error
	s.parts.Values, err = layout.NewValues(e, specs)
	must(t, err)
	s.parts.Gradients, _, err = layout.Stage(e, len(specs), s.parts.Buckets)
	must(t, err)
	s.Reducer = newReducer(s.parts, s.state, parameters)
	return s
}

// compute acts as the model's backward pass. compute sets all elements of gradient k to k+1 and
// emits the gradient. The table's gradient has rows 1 and 2.
func (s *staged) compute(t interface {
	Helper()
	Fatal(...any)
}, k int) {
	t.Helper()
	g := s.parts.Gradients[k]
	if g.Sparse() {
		must(t, g.SetRows(2))
		copy(g.Rows, []int32{1, 2})
	}
	must(t, engine.In(s.parts.Engine, g.Values, slices.Repeat([]float32{float32(k + 1)}, len(g.Values))))
	s.Emit(k)
}

// gradients returns the gradients in the engine's memory.
func (s *staged) gradients(t interface {
	Helper()
	Fatal(...any)
}) (out [][]float32) {
	t.Helper()
	for _, g := range s.parts.Gradients {
		host := make([]float32, len(g.Values))
		must(t, engine.Out(s.parts.Engine, host, g.Values))
		out = append(out, host)
	}
	return out
}

// Buckets are reduced in index order, even if gradients arrive in another order. Every gradient
// gets the hook's result.
func TestStagedGradientsAreReduced(t *testing.T) {
	dark := enginetest.New(enginetest.Full)
	defer func() { must(t, dark.Close()) }()
	rapid.Check(t, func(t *rapid.T) {
		s := newStaged(t, dark, false)
		passes := rapid.IntRange(1, 3).Draw(t, "passes")
		for range passes {
			s.state.NextBatch()
			s.hook.reduced = nil
			s.Begin()
			for _, k := range rapid.Permutation([]int{0, 1, 2, 3}).Draw(t, "order") {
				s.compute(t, k)
			}
			must(t, s.Wait(nil))
			if got, want := fmt.Sprint(s.hook.reduced, s.parts.Gradients[0].Rows,
				s.gradients(t)), "[0 1 2] [1 2 4] [[2 2 2 2 100 120] [4 4 4] [6 6] [8 8 8 8]]"; got != want {
				t.Fatalf("it came to %s, want %s", got, want)
			}
		}
		for _, name := range []string{CopyOut, CopyIn} {
			n := 0
			s.parts.Recorder.Series(StagingMetric, name).Each(func(m sdk.Measurement) {
				if want := (sdk.Key{A: int64(n / 3), B: int64(n % 3)}); m.Key != want || m.DurationNS < 0 {
					t.Fatalf("measurement %d of %s is %+v", n, name, m)
				}
				n++
			})
			if n != 3*passes {
				t.Fatalf("%d passes have %d measurements of %s", passes, n, name)
			}
		}
	})
}

// Each bucket except the last is copied out, reduced and copied in before the backward pass ends.
// The model in this test waits for the copy in before it continues. The test would time out if any
// step waited for the end of the backward pass.
func TestStagingOverlapsWithBackward(t *testing.T) {
	dark := enginetest.New(enginetest.Full)
	defer func() { must(t, dark.Close()) }()
	s := newStaged(t, dark, false)
	in := s.parts.Recorder.Series(StagingMetric, CopyIn)
	arrived := func() (n int) {
		in.Each(func(sdk.Measurement) { n++ })
		return n
	}
	s.state.NextBatch()
	start := comm.Now()
	s.Begin()
	for bucket, parameters := range [][]int{{3, 2}, {1}, {0}} {
		t.Run(strconv.Itoa(bucket), func(t *testing.T) {
			for end := time.Now().Add(patience); arrived() < bucket; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("bucket %d is not back while backward goes on", bucket-1)
				}
			}
			for _, k := range parameters {
				s.compute(t, k)
			}
		})
	}
	must(t, s.Wait(nil))
	backwardEnd, _ := s.Waited()
	s.Record(sdk.Key{}, start)
	for _, name := range []string{CopyOut, CopyIn} {
		t.Run(name, func(t *testing.T) {
			s.parts.Recorder.Series(StagingMetric, name).Each(func(m sdk.Measurement) {
				if end := m.StartNS + m.DurationNS; m.Key.B < 2 && (m.StartNS < start || end > backwardEnd) {
					t.Errorf("%s of bucket %d is from %d to %d, backward from %d to %d", name, m.Key.B, m.StartNS, end,
						start, backwardEnd)
				}
			})
		})
	}
}

func TestStagingFailsInWords(t *testing.T) {
	broken := errors.New("the wire broke")
	for name, c := range map[string]struct {
		fail    func(*enginetest.Dark, *staged)
		model   error
		want    string
		reduced int
	}{
		"hook": {func(_ *enginetest.Dark, s *staged) { s.hook.fails = broken }, nil, "the wire broke", 3},
		"copy out": {func(d *enginetest.Dark, _ *staged) { d.Fail(false, broken) }, nil,
			"bucket 0 did not come out of the memory of engine dark: the wire broke", 0},
		"copy in": {func(d *enginetest.Dark, _ *staged) { d.Fail(true, broken) }, nil,
			"bucket 0 did not come into the memory of engine dark: the wire broke", 3},
		"the model": {func(*enginetest.Dark, *staged) {}, errors.New("the model is broken"), "the model is broken", 3},
	} {
		t.Run(name, func(t *testing.T) {
			dark := enginetest.New(enginetest.Full)
			defer func() { must(t, dark.Close()) }()
			s := newStaged(t, dark, false)
			s.Begin()
			c.fail(dark, s)
			for k := 3; k >= 0; k-- {
				if g := s.parts.Gradients[k]; g.Sparse() {
					must(t, g.SetRows(2))
				}
				s.Emit(k)
			}
			if err := s.Wait(c.model); err == nil || err.Error() != c.want {
				t.Errorf("it gives %v, want %s", err, c.want)
			}
			if len(s.hook.reduced) != c.reduced {
				t.Errorf("the hook was called %d times, want %d", len(s.hook.reduced), c.reduced)
			}
		})
	}
}

// If the model fails, or omits a gradient, the pass ends once all started operations have ended.
// Incomplete buckets are not reduced.
func TestStagingOfAModelThatFailsInTheMiddle(t *testing.T) {
	dark := enginetest.New(enginetest.Full)
	defer func() { must(t, dark.Close()) }()
	for want, failed := range map[string]error{
		"the model is broken": errors.New("the model is broken"),
		"the model ended backward with 1 gradients of bucket 0 missing": nil,
	} {
		t.Run(want, func(t *testing.T) {
			s := newStaged(t, dark, false)
			s.Begin()
			dark.Hold(true)
			s.compute(t, 3)
			s.compute(t, 1)
			time.AfterFunc(20*time.Millisecond, func() { dark.Hold(false) })
			err := s.Wait(failed)
			if got := fmt.Sprint(s.parts.Buckets[0].Gradient.Values,
				s.parts.Buckets[1].Gradient.Values); got != "[4 4 4 4 0 0] [2 2 2]" {
				t.Errorf("%s is in the buckets: a copy goes on", got)
			}
			if err == nil || err.Error() != want || len(s.hook.reduced) != 0 {
				t.Errorf("it gives %v and reduces %v", err, s.hook.reduced)
			}
			s.Begin()
			s.compute(t, 3)
			s.compute(t, 2)
			if err := s.Wait(errors.New("later")); err == nil || err.Error() != "later" || len(s.hook.reduced) != 1 {
				t.Errorf("the pass after it gives %v and reduces %v", err, s.hook.reduced)
			}
			s.Begin()
			for k := range 4 {
				s.compute(t, k)
			}
			must(t, s.Wait(nil))
		})
	}
}

func TestParametersComeBackInBuckets(t *testing.T) {
	dark := enginetest.New(enginetest.Full)
	defer func() { must(t, dark.Close()) }()
	s := newStaged(t, dark, true)
	s.parts.Buckets = s.parts.Buckets[:2] // a server of parameters does not answer with rows
	s.Reducer = newReducer(s.parts, s.state, true)
	s.Begin()
	for k := 3; k > 0; k-- {
		s.compute(t, k)
	}
	must(t, s.Wait(nil))
	if got := fmt.Sprint(s.gradients(t)[1:]); got != "[[2 2 2] [3 3] [4 4 4 4]]" {
		t.Errorf("gradients became %s", got)
	}
	must(t, s.TakeParameters())
	for k, want := range []float32{0, 4, 6, 8} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			host := make([]float32, len(s.parts.Values[k].Data))
			must(t, engine.Out(dark, host, s.parts.Values[k].Data))
			if host[0] != want || host[len(host)-1] != want {
				t.Errorf("parameter %d became %v, want %g", k, host, want)
			}
		})
	}
}

// apart is an engine that claims that Go cannot access its memory.
type apart struct{ engine.Engine }

func (apart) Addressable() bool { return false }

func TestStagingAllocatesNothing(t *testing.T) {
	s := newStaged(t, apart{engine.Host}, false)
	s.hook.reduced, s.hook.done = make([]int, 0, 1<<12), comm.Completed(nil)
	pass := func() {
		s.state.NextBatch()
		s.Begin()
		must(t, s.parts.Gradients[0].SetRows(2))
		for k := 3; k >= 0; k-- {
			s.Emit(k)
		}
		must(t, s.Wait(nil))
	}
	if n := testing.AllocsPerRun(100, pass); n != 0 {
		t.Errorf("a staged pass allocates %g times", n)
	}
}
