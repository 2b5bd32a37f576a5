package server

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/sdk"
)

var timings = []sdk.Timing{sdk.OnArrival, sdk.OnLastArrival}

// mean is a server that averages the gradients of this many trainers.
type mean int

func (m mean) Combine(sum []float32, others [][]float32) {
	for _, other := range others {
		for i, v := range other {
			sum[i] += v
		}
	}
}

func (m mean) Finish(sum []float32) {
	for i := range sum {
		sum[i] /= float32(m)
	}
}

// newReduction makes a reduction on four cores, even if the machine has fewer or more.
func newReduction(t testing.TB, timing sdk.Timing, server sdk.ElementwiseServer, trainers int) *reduction {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	done := make(chan struct{})
	var group sync.WaitGroup
	r := &reduction{server: server, timing: timing, clock: monotonic(), pool: newPool(trainers, &group, done)}
	t.Cleanup(func() {
		close(done)
		group.Wait()
	})
	return r
}

// arrival returns a trainer's gradient as a port delivers it. more says that the next gradient has
// already arrived.
func arrival(trainer int, values []float32, more bool) *comm.Arrival {
	return &comm.Arrival{Trainer: trainer, Gradient: &tensor.Gradient{Values: values}, More: more, InPlace: true}
}

// denseOf returns the spec of a dense bucket with this many elements.
func denseOf(elements int) tensor.BucketSpec { return tensor.BucketSpec{Elements: elements} }

// value returns element i of a trainer's gradient in a batch.
func value(trainer, batch, i int) float32 {
	return float32(math.Sin(float64(i%1009)+float64(7*trainer)) * float64(batch+1))
}

func requireMean(t *rapid.T, got []float32, trainers, batch int) {
	for i, v := range got {
		want := 0.0
		for trainer := range trainers {
			want += float64(value(trainer, batch, i)) / float64(trainers)
		}
		if math.Abs(float64(v)-want) > 1e-5 {
			t.Fatalf("batch %d, element %d of %d is %v instead of %v", batch, i, len(got), v, want)
		}
	}
}

func TestReductionIsTheMean(t *testing.T) {
	for _, timing := range timings {
		t.Run(fmt.Sprint(timing), func(t *testing.T) {
			var reductions [6]*reduction // by number of trainers
			for trainers := 1; trainers < len(reductions); trainers++ {
				reductions[trainers] = newReduction(t, timing, mean(trainers), trainers)
			}
			rapid.Check(t, func(t *rapid.T) {
				trainers := rapid.IntRange(1, 5).Draw(t, "trainers")
				n := rapid.SampledFrom([]int{0, 1, 7, comm.BlockElements - 1, comm.BlockElements,
					comm.BlockElements + 1, splitElements, splitElements + 3, 20*comm.BlockElements - 5}).Draw(t,
					"elements")
				r := reductions[trainers]
				inPlace := rapid.SliceOfN(rapid.Bool(), trainers, trainers).Draw(t, "in place")
				c := &r.newChunks(denseOf(n), trainers)[0]
				for batch := range 2 {
					gradients := make([][]float32, trainers)
					order := rapid.Permutation(positions(trainers)).Draw(t, "order")
					for k, trainer := range order {
						gradients[trainer] = make([]float32, n)
						for i := range n {
							gradients[trainer][i] = value(trainer, batch, i)
						}
						spentNS, last, err := c.add(&comm.Arrival{Trainer: trainer,
							Gradient: &tensor.Gradient{Values: gradients[trainer]}, More: rapid.Bool().Draw(t, "more"),
							InPlace: inPlace[trainer]})
						if err != nil || last != (k == trainers-1) || spentNS < 0 || !last && spentNS > 0 {
							t.Fatalf("arrival %d of %d: last is %v, after %d ns, %v", k, trainers, last, spentNS, err)
						}
					}
					answer := gradients[c.blocks.owner]
					requireMean(t, answer, trainers, batch)
					for trainer, g := range gradients {
						if inPlace[trainer] && !slices.Equal(g, answer) {
							t.Fatalf("batch %d: trainer %d has other bits than trainer %d", batch, trainer,
								c.blocks.owner)
						}
						if !slices.Equal(c.answerTo(trainer).Values, answer) {
							t.Fatalf("batch %d: trainer %d is answered with something else", batch, trainer)
						}
					}
				}
			})
		})
	}
}

// sparse is a bucket for a table of 5 rows with 2 columns.
var sparse = tensor.BucketSpec{Elements: 10, Sparse: true, TableRows: 5, Width: 2, Capacity: 5}

// table expands g to a full table.
func table(g *tensor.Gradient) []float32 {
	out := make([]float32, sparse.Elements)
	for i, row := range g.Rows {
		copy(out[int(row)*g.Width:], g.Values[i*g.Width:(i+1)*g.Width])
	}
	return out
}

func TestReductionOfRowsIsTheMean(t *testing.T) {
	for _, timing := range timings {
		t.Run(fmt.Sprint(timing), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				trainers := rapid.IntRange(1, 6).Draw(t, "trainers")
				r := &reduction{server: mean(trainers), timing: timing, clock: monotonic()}
				c := &r.newChunks(sparse, trainers)[0]
				for range 2 { // the second batch must not see the first one's values
					want := make([]float64, sparse.Elements)
					order := rapid.Permutation(positions(trainers)).Draw(t, "order")
					for k, trainer := range order {
						g := tensor.NewGradient(sparse)
						rows := rapid.SliceOfDistinct(rapid.Int32Range(0, 4), rapid.ID[int32]).Draw(t, "rows")
						slices.Sort(rows)
						g.Rows, g.Values = append(g.Rows, rows...), g.Values[:len(rows)*sparse.Width]
						for i := range g.Values {
							g.Values[i] = rapid.Float32Range(-8, 8).Draw(t, "value")
						}
						for i, v := range table(&g) {
							want[i] += float64(v) / float64(trainers)
						}
						_, last, err := c.add(&comm.Arrival{Trainer: trainer, Gradient: &g})
						if err != nil || last != (k == trainers-1) {
							t.Fatalf("arrival %d of %d: last is %v, %v", k, trainers, last, err)
						}
					}
					for trainer := range trainers {
						for i, v := range table(c.answerTo(trainer)) {
							if math.Abs(float64(v)-want[i]) > 1e-5*max(1, math.Abs(want[i])) {
								t.Fatalf("trainer %d, element %d: %v instead of %v", trainer, i, v, want[i])
							}
						}
					}
				}
			})
		})
	}
}

func positions(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// The two timings differ. With OnArrival, the server combines gradients as they arrive. With
// OnLastArrival, the server leaves all gradients unchanged before the last arrival.
func TestWhenAReductionWorks(t *testing.T) {
	for timing, want := range map[sdk.Timing][][]float32{sdk.OnArrival: {{2}, {5}}, sdk.OnLastArrival: {{2}, {3}}} {
		t.Run(fmt.Sprint(timing), func(t *testing.T) {
			c := &newReduction(t, timing, mean(3), 3).newChunks(denseOf(1), 3)[0]
			got := [][]float32{{2}, {3}}
			_, _, _ = c.add(arrival(1, got[1], false))
			_, _, _ = c.add(arrival(0, got[0], false))
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("timing %v, after two of three arrivals: %s", timing, d)
			}
		})
	}
}

// decimal is a server that appends gradients as the digits of a number, so that the result shows
// their order.
type decimal struct{}

func (decimal) Combine(sum []float32, others [][]float32) {
	for i := range sum {
		for _, other := range others {
			sum[i] = 10*sum[i] + other[i]
		}
	}
}
func (decimal) Finish([]float32) {}

// Gradients are combined in the order of arrival or of rank, for dense buckets and rows.
func TestOrderOfCombination(t *testing.T) {
	rows := tensor.BucketSpec{Elements: 1, Sparse: true, TableRows: 1, Width: 1, Capacity: 1}
	for timing, want := range map[sdk.Timing]float32{sdk.OnArrival: 312, sdk.OnLastArrival: 123} {
		t.Run(fmt.Sprint(timing), func(t *testing.T) {
			for _, spec := range []tensor.BucketSpec{denseOf(1), rows} {
				c := &newReduction(t, timing, decimal{}, 3).newChunks(spec, 3)[0]
				for _, trainer := range []int{2, 0, 1} {
					g := &tensor.Gradient{Values: []float32{float32(1 + trainer)}}
					if spec.Sparse {
						g.Width, g.Rows = 1, []int32{0}
					}
					if _, _, err := c.add(&comm.Arrival{Trainer: trainer, Gradient: g}); err != nil {
						t.Fatal(err)
					}
				}
				if got := c.answerTo(0).Values[0]; got != want {
					t.Errorf("timing %v, sparse %v: %v instead of %v", timing, spec.Sparse, got, want)
				}
			}
		})
	}
}

func TestReductionAllocatesNothing(t *testing.T) {
	for _, timing := range timings {
		for _, spec := range []tensor.BucketSpec{denseOf(2 * splitElements), sparse} {
			r := newReduction(t, timing, mean(3), 3)
			c := &r.newChunks(spec, 3)[0]
			arrivals := make([]*comm.Arrival, 3)
			for i := range arrivals {
				g := tensor.NewGradient(spec)
				if spec.Sparse {
					g.Rows, g.Values = append(g.Rows, int32(i), int32(i+2)), g.Values[:4]
				}
				arrivals[i] = &comm.Arrival{Trainer: i, Gradient: &g, More: i == 1, InPlace: i > 0}
			}
			round := func() {
				for _, a := range arrivals {
					if _, _, err := c.add(a); err != nil {
						t.Fatal(err)
					}
				}
			}
			if n := testing.AllocsPerRun(50, round); n != 0 {
				t.Errorf("timing %v, sparse %v: %v allocations per reduction", timing, spec.Sparse, n)
			}
		}
	}
}

// Over real links, each trainer gets the mean of all pushes, in every bucket and batch. Each bucket
// is measured once per batch.
func TestElementwiseServers(t *testing.T) {
	specs := []tensor.BucketSpec{
		{Index: 0, Elements: 5},
		{Index: 1, Elements: comm.ChunkElements + splitElements + 3},
		{Index: 2, Elements: 8, Sparse: true, TableRows: 4, Width: 2, Capacity: 4},
	}
	for _, transport := range hosttest.Transports {
		for _, timing := range timings {
			for _, trainers := range []int{1, 3} {
				role, links, stores := openServer(t, transport, elementwise(timing, mean(trainers)), specs, trainers,
					hosttest.Patience)
				const batches = 2
				before := comm.Now()
				var ranks sync.WaitGroup
				for rank := range trainers {
					ranks.Go(func() { trainAlong(t, links[rank], stores[rank], rank, trainers, batches) })
				}
				ranks.Wait()
				after := comm.Now()
				want := map[string]int{}
				for b := range batches {
					for k := range specs {
						want[sdk.Key{A: int64(b), B: int64(k)}.String()] = 1
					}
				}
				for _, name := range []string{"param_index_straggler", "param_index_batch", "tested computation"} {
					if d := cmp.Diff(want, keysOf(timesOf(role, name), before, after)); d != "" {
						t.Errorf("%s, timing %v, %s: %s", transport, timing, name, d)
					}
				}
			}
		}
	}
}

// keysOf counts measurements by key. keysOf counts measurements outside the given time under
// another key.
func keysOf(ms []sdk.Measurement, from, to int64) map[string]int {
	out := map[string]int{}
	for _, m := range ms {
		if m.StartNS < from || m.DurationNS < 0 || m.StartNS+m.DurationNS > to {
			out["outside"]++
		}
		out[m.Key.String()]++
	}
	return out
}

// trainAlong pushes all buckets in some batches and checks the answers.
func trainAlong(t *testing.T, link comm.ServerLink, store *comm.Store, rank, trainers, batches int) {
	for batch := range batches {
		var futures []*comm.Future
		for _, b := range store.Buckets {
			if b.Sparse {
				if err := b.Gradient.SetRows(1); err != nil {
					t.Error(err)
				}
				b.Gradient.Rows[0] = int32(rank)
			}
			for i := range b.Gradient.Values {
				b.Gradient.Values[i] = value(rank, batch, i)
			}
			futures = append(futures, link.PushPull(int64(batch), b))
		}
		for k, f := range futures {
			if err := f.Wait(); err != nil {
				t.Errorf("trainer %d, batch %d, bucket %d: %v", rank, batch, k, err)
				return
			}
		}
		for _, b := range store.Buckets {
			if b.Sparse && len(b.Gradient.Rows) != trainers {
				t.Errorf("trainer %d, batch %d: rows %v of %d trainers", rank, batch, b.Gradient.Rows, trainers)
			}
			for i, v := range b.Gradient.Values {
				want := 0.0
				if b.Sparse {
					want = float64(value(int(b.Gradient.Rows[i/b.Width]), batch, i%b.Width)) / float64(trainers)
				} else {
					for r := range trainers {
						want += float64(value(r, batch, i)) / float64(trainers)
					}
				}
				if math.Abs(float64(v)-want) > 1e-5 {
					t.Errorf("trainer %d, batch %d, bucket %d, element %d is %v, want %v", rank, batch, b.Index, i, v,
						want)
					return
				}
			}
		}
	}
}
