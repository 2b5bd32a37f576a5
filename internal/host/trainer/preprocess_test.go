package trainer

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/sdk"
)

// shifting is a toy trainer whose Preprocess adds one to each row number in the data.
type shifting struct {
	hosttest.ToyTrainer
	mu    sync.Mutex
	calls [][]int // batch sizes of each call
}

func (s *shifting) Preprocess(batches []sdk.Batch) ([]sdk.Batch, error) {
	var sizes []int
	out := slices.Clone(batches)
	for i := range out {
		sizes = append(sizes, out[i].Size())
		out[i].Indices = shifted(out[i].Indices)
	}
	s.mu.Lock()
	s.calls = append(s.calls, sizes)
	s.mu.Unlock()
	return out, nil
}

func shifted(indices []int64) []int64 {
	out := slices.Clone(indices)
	for k, v := range out {
		out[k] = (v + 1) % 4
	}
	return out
}

// keptData is samples in memory.
type keptData struct{ *sdk.Samples }

func (d keptData) Load() (*sdk.Samples, error) { return d.Samples, nil }

// partlyHeld returns the toy samples with the last three held out. If shift is set, the indices are
// shifted.
func partlyHeld(shift bool) *sdk.Samples {
	all, _ := hosttest.ToyData{}.Load()
	if shift {
		all.Indices = shifted(all.Indices)
	}
	trained, held := batches.Slice(&all.Batch, 0, 4), batches.Slice(&all.Batch, 4, 7)
	return &sdk.Samples{Batch: trained, HeldOut: &sdk.Samples{Batch: held}}
}

// preprocessing makes a world whose trainer preprocesses the data.
func preprocessing(t *testing.T, data sdk.Data, transport string, isolated ...sdk.Kind) (*toyWorld, *shifting) {
	s := &shifting{}
	parts := append([]sdk.Part{
		sdk.NewTrainer("toy", struct{}{}, func(struct{}, sdk.TrainerEnv) (sdk.Trainer, error) { return s, nil }),
		sdk.NewData("toy", struct{}{}, func(struct{}, sdk.DataEnv) (sdk.Data, error) { return data, nil }),
	}, hosttest.ToyParts...)
	return newWorldOf(t, parts, "toy", transport, "{}", isolated...), s
}

// Training and held-out batches are preprocessed once for both passes. The run computes the same
// results as a run on data that was shifted from the start.
func TestBatchesArePreprocessedOnce(t *testing.T) {
	want := newWorldOn(t, keptData{partlyHeld(true)}, "toy", "unix", "{}").pass(t)
	for _, transport := range hosttest.Transports {
		for _, isolated := range [][]sdk.Kind{nil, isolable} {
			w, s := preprocessing(t, keptData{partlyHeld(false)}, transport, isolated...)
			for range 2 {
				if d := cmp.Diff(want, w.pass(t)); d != "" {
					t.Errorf("%s, isolated %v: %s", transport, isolated, d)
				}
			}
			if d := cmp.Diff([][]int{{2, 2}, {2, 1}}, s.calls); d != "" {
				t.Errorf("%s, isolated %v, calls: %s", transport, isolated, d)
			}
		}
	}
}

// Each batch of a stream is preprocessed separately when it is read.
func TestStreamedBatchesArePreprocessedOneByOne(t *testing.T) {
	want := newWorldOn(t, keptData{partlyHeld(true)}, "toy", "unix", "{}").pass(t)
	raw := partlyHeld(false)
	data := hosttest.NewTape(&sdk.Samples{Batch: raw.Batch})
	data.Loaded = &sdk.Samples{HeldOut: raw.HeldOut}
	w, s := preprocessing(t, data, "shm", isolable...)
	for range 3 {
		if d := cmp.Diff(want, w.pass(t)); d != "" {
			t.Error(d)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	held := slices.IndexFunc(s.calls, func(sizes []int) bool { return slices.Equal(sizes, []int{2, 1}) })
	if held < 0 || len(s.calls) < 7 {
		t.Fatalf("the calls are %v", s.calls)
	}
	for _, sizes := range slices.Delete(s.calls, held, held+1) {
		if !slices.Equal(sizes, []int{2}) {
			t.Errorf("a call has batches of %v", sizes)
		}
	}
}
