package trainer

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/host/stop"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// holdingOut returns the toy data with additional held-out samples, in memory or as a stream.
func holdingOut(streamed bool, bags [][]int64, targets ...int64) sdk.Data {
	s, _ := hosttest.ToyData{}.Load()
	s.HeldOut = hosttest.Samples(bags, targets...)
	if !streamed {
		return hosttest.Loaded{Samples: s}
	}
	d := hosttest.NewTape(s)
	d.Loaded = &sdk.Samples{HeldOut: s.HeldOut}
	return d
}

// evaluate runs a pass and returns the trainer's work and evaluations.
func (w *toyWorld) evaluate(t *testing.T) (*record.Work, []record.Evaluation) {
	t.Helper()
	w.reset(t)
	reply, err := w.trainer.Train(t.Context(), stop.Length{})
	hosttest.Must(t, err)
	var found []record.Evaluation
	hosttest.Must(t, w.trainer.Collect(func(r record.Piece) error {
		if q, ok := r.(*record.Evaluation); ok {
			found = append(found, *q)
		}
		return nil
	}))
	return reply, found
}

// A trainer gets the same evaluations in every pass, wherever its parts run and however the data
// arrives. Held-out samples do not change the training.
func TestTrainersEvaluate(t *testing.T) {
	heldOut := [][]int64{{1, 2, 3, 0, 1}, {}, {3}}
	plain := newToyWorld(t, "unix", "{}").pass(t)
	_, want := newWorldOn(t, holdingOut(false, heldOut, 1, 0, 1), "toy", "unix", "{}").evaluate(t)
	if len(want) != 1 || want[0].Samples != 3 || want[0].Correct == nil || want[0].LossSum == 0 ||
		len(want[0].Bins) == 0 {
		t.Fatalf("the toy finds %v", want)
	}
	for i, transport := range hosttest.Transports {
		for _, streamed := range []bool{false, true} {
			for k, isolated := range [][]sdk.Kind{nil, {sdk.KindModel}, {sdk.KindCriterion}, isolable} {
				if testing.Short() && (i+k)%2 == 1 {
					continue // test every transport and every isolation, but not every pair
				}
				w := newWorldOn(t, holdingOut(streamed, heldOut, 1, 0, 1), "toy", transport, "{}", isolated...)
				for range 2 {
					if d := cmp.Diff(plain, w.pass(t)); d != "" {
						t.Errorf("%s, streamed %v, isolated %v: evaluation changes what is trained: %s", transport,
							streamed, isolated, d)
					}
				}
				reply, got := w.evaluate(t)
				if len(got) != 1 || !cmp.Equal(got[0], want[0]) {
					t.Errorf("%s, streamed %v, isolated %v: found %v, want %v", transport, streamed, isolated, got,
						want)
				}
				if spent := reply.EvaluatedNS; spent <= 0 || spent > reply.EndNS-reply.StartNS {
					t.Errorf("evaluation took %d ns of %d", spent, reply.EndNS-reply.StartNS)
				}
				var keys []sdk.Key
				w.trainer.Recorder.Series("evaluation_metric", "evaluate").Each(func(m sdk.Measurement) {
					keys = append(keys, m.Key)
				})
				if !slices.Equal(keys, []sdk.Key{{}}) {
					t.Errorf("evaluations were recorded under %v", keys)
				}
			}
		}
	}
}

// Two trainers with the same parameters get, in total, the result of one trainer on all samples. A
// trainer without held-out samples has no result.
func TestTrainersEvaluateTheirShares(t *testing.T) {
	found := func(bags [][]int64, targets ...int64) record.Evaluation {
		_, got := newWorldOn(t, holdingOut(false, bags, targets...), "toy", "shm", "{}").evaluate(t)
		return got[0]
	}
	all := found([][]int64{{1, 2}, {0}, {3}, {3, 1}}, 1, 0, 1, 1)
	a, b := found([][]int64{{1, 2}, {0}}, 1, 0), found([][]int64{{3}, {3, 1}}, 1, 1)
	if a.Samples+b.Samples != 4 || *a.Correct+*b.Correct != *all.Correct ||
		math.Abs(a.LossSum+b.LossSum-all.LossSum) > 1e-12 {
		t.Errorf("found %v and %v, all are %v", a, b, all)
	}
	bins := append(numbersOf(a.Bins), numbersOf(b.Bins)...)
	slices.Sort(bins)
	if !slices.Equal(slices.Compact(bins), numbersOf(all.Bins)) {
		t.Errorf("the bins are %d and %d, all are %d", numbersOf(a.Bins), numbersOf(b.Bins), numbersOf(all.Bins))
	}
	reply, got := newToyWorld(t, "shm", "{}").evaluate(t)
	if reply.EvaluatedNS != 0 || got != nil {
		t.Errorf("without held-out samples %d ns find %v", reply.EvaluatedNS, got)
	}
}

// After a failure, the core collects while a trainer may still be evaluating. Collect then returns
// only the completed epochs.
func TestCollectDuringEvaluation(t *testing.T) {
	e := newEvaluation("trainer1", engine.Host, []sdk.Batch{{Targets: []int64{1, 0}}}, sdk.InputSpec{Classes: 2},
		&sdk.Recorder{})
	const epochs = 50
	ended := make(chan error, 1)
	go func() {
		var err error
		forward := answering([]float32{1, 2})
		for epoch := 0; epoch < epochs && err == nil; epoch++ {
			err = e.run(t.Context(), epoch, forward, meanOfOutputs{})
		}
		ended <- err
	}()
	for running := true; running; {
		select {
		case err := <-ended:
			hosttest.Must(t, err)
			running = false
		default:
		}
		for i, q := range evaluations(t, e) {
			if q.Epoch != i || q.Samples != 2 || len(q.Bins) != 2 {
				t.Errorf("place %d holds %v", i, q)
			}
		}
	}
	if n := len(evaluations(t, e)); n != epochs {
		t.Errorf("%d epochs are there, want %d", n, epochs)
	}
}
