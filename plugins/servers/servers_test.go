package servers

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

var makers = map[string]func(noSettings, sdk.ServerEnv) (sdk.Server, error){
	"average": newAverage, "average_batch": newAverageBatch,
}

func dense(index, elements int) tensor.BucketSpec {
	return tensor.BucketSpec{Index: index, Elements: elements}
}

func sparse(index, rows, width int) tensor.BucketSpec {
	return tensor.BucketSpec{Index: index, Elements: rows * width, Sparse: true, TableRows: rows, Width: width, Capacity: rows}
}

// world is a server with what its trainers see of it.
type world struct {
	server   sdk.Server
	recorder *sdk.Recorder
	answers  [][]float32 // by trainer: the last answer as a table, nil if none is due
	specs    []tensor.BucketSpec
}

func newWorld(t interface{ Fatal(...any) }, key string, trainers int, specs ...tensor.BucketSpec) *world {
	w := &world{recorder: &sdk.Recorder{}, answers: make([][]float32, trainers), specs: specs}
	var err error
	w.server, err = makers[key](noSettings{}, sdk.ServerEnv{Trainers: trainers, Buckets: specs, Recorder: w.recorder})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) push(batch int64, bucket, trainer int, g *tensor.Gradient) *sdk.Push {
	return sdk.NewPush(batch, bucket, trainer, g, func(answer *tensor.Gradient) error {
		w.answers[trainer] = table(w.specs[bucket], answer)
		return nil
	})
}

// deliver hands the pushes to the server as its Wake asks, in the given order
// of arrival.
func (w *world) deliver(pushes []*sdk.Push, order []int) error {
	if w.server.Wake() == sdk.LastArrival {
		return w.server.Receive(pushes)
	}
	for _, t := range order {
		if err := w.server.Receive(pushes[t : t+1]); err != nil {
			return err
		}
	}
	return nil
}

// table is g with every row in place.
func table(spec tensor.BucketSpec, g *tensor.Gradient) []float32 {
	if !spec.Sparse {
		return slices.Clone(g.Values)
	}
	out := make([]float32, spec.Elements)
	for i, row := range g.Rows {
		copy(out[int(row)*g.Width:], g.Values[i*g.Width:(i+1)*g.Width])
	}
	return out
}

// draw makes a gradient; of a sparse one some rows, possibly none.
func draw(t *rapid.T, spec tensor.BucketSpec) *tensor.Gradient {
	g := tensor.NewGradient(spec)
	if spec.Sparse {
		rows := rapid.SliceOfDistinct(rapid.Int32Range(0, int32(spec.TableRows-1)), rapid.ID[int32]).Draw(t, "rows")
		slices.Sort(rows)
		g.Rows = append(g.Rows, rows...)
		g.Values = g.Values[:len(rows)*spec.Width]
	}
	for i := range g.Values {
		g.Values[i] = rapid.Float32Range(-8, 8).Draw(t, "value")
	}
	return &g
}

func TestMeanOfAllTrainers(t *testing.T) {
	for key := range makers {
		t.Run(key, rapid.MakeCheck(func(t *rapid.T) {
			trainers := rapid.IntRange(1, 6).Draw(t, "trainers")
			specs := []tensor.BucketSpec{dense(0, rapid.IntRange(1, 9).Draw(t, "elements")), sparse(1, 5, 2)}
			w := newWorld(t, key, trainers, specs...)
			// Two batches: the second must not see anything of the first.
			for batch := range int64(2) {
				for b, spec := range specs {
					want := make([]float64, spec.Elements)
					pushes := make([]*sdk.Push, trainers)
					for i := range pushes {
						g := draw(t, spec)
						for e, v := range table(spec, g) {
							want[e] += float64(v) / float64(trainers)
						}
						pushes[i] = w.push(batch, b, i, g)
					}
					clear(w.answers)
					if err := w.deliver(pushes, rapid.Permutation(indices(trainers)).Draw(t, "order")); err != nil {
						t.Fatal(err)
					}
					for i, answer := range w.answers {
						requireNear(t, i, answer, want)
					}
				}
			}
		}))
	}
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func requireNear(t *rapid.T, trainer int, got []float32, want []float64) {
	if len(got) != len(want) {
		t.Fatalf("trainer %d got %d elements instead of %d", trainer, len(got), len(want))
	}
	for i := range want {
		if math.Abs(float64(got[i])-want[i]) > 1e-5*max(1, math.Abs(want[i])) {
			t.Fatalf("trainer %d, element %d: %v instead of %v", trainer, i, got[i], want[i])
		}
	}
}

func values(v ...float32) *tensor.Gradient { return &tensor.Gradient{Values: v} }

// The difference between the two servers, which the original compares: average
// has done its additions before the last gradient comes, average_batch none.
func TestWhenTheWorkIsDone(t *testing.T) {
	w := newWorld(t, "average", 3, dense(0, 2))
	first := values(1, 2)
	for i, g := range []*tensor.Gradient{first, values(10, 20)} {
		if err := w.server.Receive([]*sdk.Push{w.push(0, 0, i, g)}); err != nil {
			t.Fatal(err)
		}
	}
	if sum := w.server.(*average).buckets[0].sum; !slices.Equal(sum.Values, []float32{11, 22}) {
		t.Errorf("after two of three arrivals the sum is %v", sum.Values)
	}
	if slices.ContainsFunc(w.answers, func(a []float32) bool { return a != nil }) {
		t.Errorf("answered before the last arrival: %v", w.answers)
	}
	if wake := w.server.Wake(); wake != sdk.EachArrival {
		t.Errorf("average is woken at %v", wake)
	}
	if wake := newWorld(t, "average_batch", 3).server.Wake(); wake != sdk.LastArrival {
		t.Errorf("average_batch is woken at %v", wake)
	}
}

func TestAverageRefusesAnotherBatch(t *testing.T) {
	w := newWorld(t, "average", 2, dense(0, 1), dense(1, 1))
	receive := func(batch int64, bucket, trainer int) error {
		return w.server.Receive([]*sdk.Push{w.push(batch, bucket, trainer, values(1))})
	}
	if err := receive(3, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := receive(4, 1, 0); err != nil {
		t.Errorf("another bucket may be at another batch, but: %v", err)
	}
	if err := receive(4, 0, 1); err == nil || !strings.Contains(err.Error(), "trainer 1 pushed batch 4 of bucket 0 while batch 3 is being averaged") {
		t.Errorf("another batch gave %v", err)
	}
	w.server.Reset()
	if err := receive(0, 0, 1); err != nil {
		t.Errorf("after a reset: %v", err)
	}
}

func TestComputationIsTimedOncePerBatchAndBucket(t *testing.T) {
	for key := range makers {
		w := newWorld(t, key, 2, dense(0, 1), dense(1, 1))
		before := comm.Now()
		for batch := range int64(2) {
			for bucket := range 2 {
				if err := w.deliver([]*sdk.Push{w.push(batch, bucket, 0, values(1)), w.push(batch, bucket, 1, values(1))}, []int{0, 1}); err != nil {
					t.Fatal(err)
				}
			}
		}
		after := comm.Now()
		var keys []string
		for _, s := range w.recorder.All() {
			if s.Type != "method_metric" || s.Name != "average computation" {
				t.Errorf("%s records %s, %s", key, s.Type, s.Name)
			}
			s.Each(func(m sdk.Measurement) {
				keys = append(keys, m.Key.String())
				if m.StartNS < before || m.DurationNS < 0 || m.StartNS+m.DurationNS > after {
					t.Errorf("%s measured %+v, outside of %d to %d", key, m, before, after)
				}
			})
		}
		if !slices.Equal(keys, []string{"0,0", "0,1", "1,0", "1,1"}) {
			t.Errorf("%s has keys %v", key, keys)
		}
	}
}

func TestNoAllocationsInTheSteadyState(t *testing.T) {
	for key := range makers {
		for _, spec := range []tensor.BucketSpec{dense(0, 100), sparse(0, 8, 4)} {
			w := newWorld(t, key, 3, spec)
			pushes := make([]*sdk.Push, 3)
			for i := range pushes {
				g := tensor.NewGradient(spec)
				if spec.Sparse {
					g.Rows, g.Values = append(g.Rows, int32(i), int32(i+2)), g.Values[:8]
				}
				pushes[i] = sdk.NewPush(0, 0, i, &g, func(*tensor.Gradient) error { return nil })
			}
			round := func() {
				if err := w.deliver(pushes, []int{2, 0, 1}); err != nil {
					t.Fatal(err)
				}
			}
			round()
			if n := testing.AllocsPerRun(200, round); n != 0 {
				t.Errorf("%s, sparse %v: %v allocations per round", key, spec.Sparse, n)
			}
		}
	}
}

func TestReduceIsTheMean(t *testing.T) {
	var server sdk.ElementwiseReducer = &averageBatch{}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{0, 1, 7, reduceBlock - 1, reduceBlock, 2*reduceBlock + 3}).Draw(t, "n")
		parts := make([][]float32, rapid.IntRange(1, 5).Draw(t, "parts"))
		want := make([]float64, n)
		for p := range parts {
			scale := rapid.Float32Range(-4, 4).Draw(t, "scale")
			parts[p] = make([]float32, n)
			for i := range parts[p] {
				parts[p][i] = scale * float32(i%13)
				want[i] += float64(parts[p][i]) / float64(len(parts))
			}
		}
		dst := make([]float32, n)
		if rapid.Bool().Draw(t, "in place") {
			dst = parts[0]
		}
		server.Reduce(dst, parts)
		requireNear(t, 0, dst, want)
	})
}
