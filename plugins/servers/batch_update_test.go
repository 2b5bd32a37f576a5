package servers

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/engine/enginetest"
	"github.com/psbench/psbench/sdk/optimizer"
)

// Trainers push their buckets in random order. A plain list of waiting and remaining trainers predicts the rounds.
// PyTorch's SGD on the mean of the round predicts the parameters. In the end, every trainer has an answer, even if
// the number of batches becomes known only during the pass. An engine that can average does so; for other engines,
// the server averages in ordinary memory.
func TestBatchUpdateRounds(t *testing.T) {
	dark := enginetest.New(enginetest.Full)
	defer func() {
		if err := dark.Close(); err != nil {
			t.Error(err)
		}
	}()
	for name, e := range map[string]engine.Engine{"host": engine.Host, "averages": dark,
		"does not": struct{ optimizer.Engine }{dark}} {
		t.Run(name, func(t *testing.T) { takesRounds(t, e) })
	}
}

func takesRounds(t *testing.T, e engine.Engine) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		batches := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 4).Draw(t, "batches")
		size := rapid.IntRange(0, len(batches)).Draw(t, "size")
		buckets := rapid.IntRange(1, 3).Draw(t, "buckets")
		w := newUpdateWorldOn(e, t, BatchUpdateSettings{Settings: optimizer.Defaults(0.5, 0.5), BatchUpdateSize: size},
			buckets, batches...)
		defer func() {
			if err := w.server.(io.Closer).Close(); err != nil {
				t.Fatal(err)
			}
		}()
		if size == 0 {
			size = len(batches)
		}
		told := rapid.Bool().Draw(t, "told at the start")
		if !told {
			w.expect(t, nil)
		}
		value, velocity := make([]float64, buckets), make([]float64, buckets)
		for k := range value {
			value[k] = heldSeed
		}
		var round []int
		others := func() (n int) {
			for j := range w.left {
				if !slices.Contains(round, j) && (w.left[j] > 0 || !told) {
					n++
				}
			}
			return n
		}
		end := func() {
			for k := range value {
				var mean float64
				for _, j := range round {
					mean += w.sent[j][k] / float64(len(round))
				}
				velocity[k] = 0.5*velocity[k] + mean
				value[k] -= 0.5 * velocity[k]
			}
			for _, j := range round {
				for k, answer := range w.answers[j] {
					if answer == nil {
						t.Fatalf("trainer %d of the round %v has no answer for bucket %d", j, round, k)
					}
					requireNear(t, j, answer, slices.Repeat(value[k:k+1], k+1))
				}
				w.pushed[j] = 0
			}
			round = nil
		}
		for {
			var free []int
			for i := range w.left {
				if w.left[i] > 0 && !slices.Contains(round, i) {
					free = append(free, i)
				}
			}
			if !told && (len(free) == 0 || rapid.Bool().Draw(t, "told now")) {
				told = true
				w.expect(t, batches)
				if len(round) > 0 && others() == 0 {
					end()
				}
				continue
			}
			if len(free) == 0 {
				break
			}
			i := rapid.SampledFrom(free).Draw(t, "trainer")
			if w.pushed[i] == 0 {
				w.batch[i]++
			}
			v := rapid.Float32Range(-4, 4).Draw(t, "gradient")
			k := w.pushed[i]
			w.sent[i][k] = float64(v)
			w.pushed[i]++
			if err := w.push(i, k, w.batch[i], v); err != nil {
				t.Fatal(err)
			}
			if w.pushed[i] < buckets {
				continue
			}
			w.left[i]--
			round = append(round, i)
			if len(round) == size || others() == 0 {
				end()
			} else if !w.waits(i) {
				t.Fatalf("trainer %d of the round %v, of %d, has its answer already", i, round, size)
			}
		}
		if len(round) > 0 {
			t.Fatalf("trainers %v wait for ever", round)
		}
	})
}

// The order of arrival changes no bit of the parameters, on any engine and in any round.
func TestBatchUpdateAddsInTheOrderOfTrainers(t *testing.T) {
	dark := enginetest.New(enginetest.Full)
	defer func() {
		if err := dark.Close(); err != nil {
			t.Error(err)
		}
	}()
	gradients := []float32{1e8, 1, -1e8, 3} // their sum is 3, 4 or 0, depending on the order
	for name, e := range map[string]engine.Engine{"host": engine.Host, "averages": dark,
		"does not": struct{ optimizer.Engine }{dark}} {
		for _, quorum := range []int{0, 3} {
			t.Run(fmt.Sprintf("%s, %d", name, quorum), func(t *testing.T) {
				var want []float32
				for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}, {1, 3, 0, 2}, {3, 0, 1, 2},
					{2, 1, 0, 3}} {
					if quorum > 0 {
						order = slices.DeleteFunc(order, func(trainer int) bool { return trainer == 1 })
					}
					w := newUpdateWorldOn(e, t,
						BatchUpdateSettings{Settings: optimizer.Defaults(1, 0.5), BatchUpdateSize: quorum}, 2, 2, 2, 2,
						2)
					for batch := range int64(2) {
						for _, trainer := range order {
							for bucket := range w.specs {
								if err := w.push(trainer, bucket, batch+1, gradients[trainer]); err != nil {
									t.Fatal(err)
								}
							}
						}
					}
					got := slices.Concat(w.answers[0]...)
					if want == nil {
						want = got
					}
					if !slices.Equal(got, want) {
						t.Errorf("in the order %v the parameters are %v, in that of the trainers %v", order, got, want)
					}
					if err := w.server.(io.Closer).Close(); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}

// The first push of a pass fetches the model, regardless of the pushed values and of waiting trainers.
func TestBatchUpdateFetch(t *testing.T) {
	w := newUpdateWorld(t, BatchUpdateSettings{Settings: optimizer.Defaults(1, 0.9)}, 1, 1, 1)
	for pass := range 2 { // the second pass starts from the initial parameters without velocity
		if err := w.push(0, 0, 0, 1e9); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]float32{heldSeed}, w.answers[0][0]); d != "" {
			t.Errorf("pass %d fetched %s", pass, d)
		}
		if err := w.push(0, 0, 1, 2); err != nil {
			t.Fatal(err)
		}
		if err := w.push(1, 0, 0, 1e9); err != nil {
			t.Fatal(err)
		}
		if w.answers[0][0] != nil || !slices.Equal(w.answers[1][0], []float32{heldSeed}) {
			t.Errorf("pass %d: after a fetch the answers are %v", pass, w.answers)
		}
		if err := w.push(1, 0, 1, 4); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(w.answers[0][0], []float32{0}) || !slices.Equal(w.answers[1][0], []float32{0}) {
			t.Errorf("pass %d: after the update the answers are %v", pass, w.answers)
		}
		specs, held := w.server.(sdk.Holder).Held()
		if len(specs) != 1 || held[0].Data[0] != 0 {
			t.Errorf("it holds %v, %v", specs, held)
		}
		w.server.Reset()
		w.expect(t, w.batches)
		if held[0].Data[0] != heldSeed {
			t.Errorf("after a reset it holds %v", held)
		}
	}
}

func TestBatchUpdateMetrics(t *testing.T) {
	w := newUpdateWorld(t, DefaultBatchUpdate, 2, 2, 1, 1)
	for _, p := range []struct{ trainer, bucket, batch int }{
		{0, 0, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}, {2, 0, 1}, {2, 1, 1}, {0, 0, 2}, {0, 1, 2},
	} {
		if err := w.push(p.trainer, p.bucket, int64(p.batch), 1); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string][]string{}
	for _, s := range w.recorder.All().Series {
		s.Each(func(m sdk.Measurement) { got[s.Type+","+s.Name] = append(got[s.Type+","+s.Name], m.Key.String()) })
	}
	if d := cmp.Diff(map[string][]string{
		"batch_update_metric,got update":    {"1,3", "2,3", "3,3", "1,1"},
		"batch_update_metric,updated model": {"0,3", "1,1"},
	}, got); d != "" {
		t.Error(d)
	}
}

func TestBatchUpdateRefusesPushes(t *testing.T) {
	for want, pushes := range map[string][][2]int{ // pairs of bucket and batch
		"trainer 0 pushed batch 2 of bucket 1 to server9 while buckets of its batch 1 are missing": {{0, 1}, {1, 2}},
		"trainer 0 pushed bucket 0 twice to server9, batch 1, without an answer":                   {{0, 1}, {0, 1}},
		"trainer 0 pushed batch 3 to server9 but has only 2 batches": {{0, 1}, {1, 1},
			{0, 2}, {1, 2}, {0, 3}},
	} {
		w := newUpdateWorld(t, DefaultBatchUpdate, 2, 2)
		var err error
		for _, p := range pushes {
			if err != nil {
				t.Fatal(err)
			}
			err = w.push(0, p[0], int64(p[1]), 1)
		}
		if err == nil || err.Error() != want {
			t.Errorf("%v gives %v, want %s", pushes, err, want)
		}
	}
	gone := errors.New("gone")
	w := newUpdateWorld(t, DefaultBatchUpdate, 1, 1)
	g := tensor.NewGradient(w.specs[0])
	if err := w.server.Receive(sdk.NewPush(sdk.Push{Batch: 1, Gradient: &g}, func(sdk.Push, *tensor.Gradient) error {
		return gone
	})); !errors.Is(err, gone) {
		t.Errorf("an answer that does not arrive gives %v", err)
	}
}

func TestBatchUpdateRefuses(t *testing.T) {
	for want, change := range map[string]func(*BatchUpdateSettings, *sdk.ServerEnv){
		"setting lr is 0 but must be above 0": func(s *BatchUpdateSettings,
			_ *sdk.ServerEnv) {
			s.LR = 0
		},
		"setting momentum is 1 but must be": func(s *BatchUpdateSettings,
			_ *sdk.ServerEnv) {
			s.Momentum = 1
		},
		"setting nesterov is true but the optimizer adam has none": func(s *BatchUpdateSettings,
			_ *sdk.ServerEnv) {
			s.Optimizer, s.Nesterov = optimizer.Adam, true
		},
		"setting batch_update_size is 3 but must be from 0 to 2, the trainers of server9": func(s *BatchUpdateSettings,
			_ *sdk.ServerEnv) {
			s.BatchUpdateSize = 3
		},
		"setting batch_update_size is -1": func(s *BatchUpdateSettings,
			_ *sdk.ServerEnv) {
			s.BatchUpdateSize = -1
		},
		"needs the run's model but got none": func(_ *BatchUpdateSettings,
			e *sdk.ServerEnv) {
			e.Model = nil
		},
		"bucket 0 holds parameter 4 but the model of server9 has 1 parameters": func(_ *BatchUpdateSettings,
			e *sdk.ServerEnv) {
			e.Buckets[0].Parameters[0].Parameter = 4
		},
		"parameter table has a sparse gradient, which the batch_update server cannot": func(_ *BatchUpdateSettings,
			e *sdk.ServerEnv) {
			e.Model = &heldModel{specs: []sdk.ParameterSpec{{Name: "table", Shape: []int{2, 2}, Sparse: true}}}
		},
	} {
		s := DefaultBatchUpdate
		env := sdk.ServerEnv{
			Engine: engine.Host,
			Name:   "server9", Trainers: 2, Recorder: &sdk.Recorder{},
			Model:   &heldModel{specs: []sdk.ParameterSpec{{Name: "p", Shape: []int{2}}}},
			Buckets: []tensor.BucketSpec{{Elements: 2, Parameters: []tensor.Span{{Elements: 2}}}},
		}
		change(&s, &env)
		if _, err := NewBatchUpdate(s, env); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestBatchUpdateAllocatesNothing(t *testing.T) {
	const rounds = 1000
	w := newUpdateWorld(t, DefaultBatchUpdate, 1, rounds, rounds)
	pushes := make([]sdk.Push, 2)
	for i := range pushes {
		g := tensor.NewGradient(w.specs[0])
		pushes[i] = sdk.NewPush(sdk.Push{Trainer: i, Gradient: &g},
			func(sdk.Push, *tensor.Gradient) error { return nil })
	}
	batch := int64(0)
	if n := testing.AllocsPerRun(rounds-2, func() {
		batch++
		for i := range pushes {
			pushes[i].Batch = batch
			if err := w.server.Receive(pushes[i]); err != nil {
				t.Fatal(err)
			}
		}
	}); n != 0 {
		t.Errorf("a round allocates %v times", n)
	}
}
