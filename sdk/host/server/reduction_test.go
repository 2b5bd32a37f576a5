package server

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/internal/hosttest"
)

// means averages dense gradients, in the way that its wake asks for. What comes by
// Receive it answers as it is.
type means struct {
	wake     sdk.Wake
	trainers int

	mu    sync.Mutex
	noted []sdk.Measurement
}

func (m *means) Wake() sdk.Wake { return m.wake }
func (m *means) Reset()         {}
func (m *means) Receive(pushes []*sdk.Push) error {
	for _, p := range pushes {
		if err := p.Answer(p.Gradient); err != nil {
			return err
		}
	}
	return nil
}

func (m *means) note(key sdk.Key, startNS, endNS int64) {
	m.mu.Lock()
	m.noted = append(m.noted, sdk.Measurement{Key: key, StartNS: startNS, DurationNS: endNS - startNS})
	m.mu.Unlock()
}

type meanAccumulator struct{ *means }

func (m meanAccumulator) Accumulate(sum, part []float32) {
	for i, v := range part {
		sum[i] += v
	}
}
func (m meanAccumulator) Finish(sum []float32) {
	for i := range sum {
		sum[i] /= float32(m.trainers)
	}
}
func (m meanAccumulator) Finished(key sdk.Key, startNS, endNS int64) { m.note(key, startNS, endNS) }

type meanReducer struct{ *means }

func (m meanReducer) Reduce(dst []float32, parts [][]float32) {
	for i := range dst {
		sum := float32(0)
		for _, p := range parts {
			sum += p[i]
		}
		dst[i] = sum / float32(len(parts))
	}
}
func (m meanReducer) Reduced(key sdk.Key, startNS, endNS int64) { m.note(key, startNS, endNS) }

// newMeans makes the server of the kind that wakes so.
func newMeans(wake sdk.Wake, trainers int) (sdk.Server, *means) {
	m := &means{wake: wake, trainers: trainers}
	if wake == sdk.EachArrival {
		return meanAccumulator{m}, m
	}
	return meanReducer{m}, m
}

// newReduction makes a reduction on four cores, whatever the machine has.
func newReduction(t testing.TB, server sdk.Server, trainers int) *reduction {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	r := elementwise(server, server.Wake())
	done := make(chan struct{})
	var group sync.WaitGroup
	r.crew = newCrew(trainers, &group, done)
	t.Cleanup(func() {
		close(done)
		group.Wait()
	})
	return r
}

// value is what a trainer's gradient has as element i in a batch.
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
	for _, wake := range []sdk.Wake{sdk.EachArrival, sdk.LastArrival} {
		var reductions [6]*reduction // by count of trainers
		for trainers := 1; trainers < len(reductions); trainers++ {
			server, _ := newMeans(wake, trainers)
			reductions[trainers] = newReduction(t, server, trainers)
		}
		rapid.Check(t, func(t *rapid.T) {
			trainers := rapid.IntRange(1, 5).Draw(t, "trainers")
			n := rapid.SampledFrom([]int{0, 1, 7, comm.BlockElements - 1, comm.BlockElements, comm.BlockElements + 1, splitElements, splitElements + 3, 20*comm.BlockElements - 5}).Draw(t, "elements")
			r := reductions[trainers]
			r.spread = rapid.Bool().Draw(t, "spread")
			c := &r.newChunks(1, trainers)[0]
			for batch := range 2 {
				gradients := make([][]float32, trainers)
				order := rapid.Permutation(positions(trainers)).Draw(t, "order")
				for k, trainer := range order {
					gradients[trainer] = make([]float32, n)
					for i := range n {
						gradients[trainer][i] = value(trainer, batch, i)
					}
					spentNS, last := c.take(trainer, gradients[trainer], rapid.Bool().Draw(t, "more"))
					if last != (k == trainers-1) || spentNS < 0 || !last && spentNS > 0 {
						t.Fatalf("arrival %d of %d: last is %v, after %d ns", k, trainers, last, spentNS)
					}
				}
				answer := gradients[c.work.owner]
				requireMean(t, answer, trainers, batch)
				for trainer, g := range gradients {
					if r.spread && !slices.Equal(g, answer) {
						t.Fatalf("batch %d: trainer %d has other bits than trainer %d", batch, trainer, c.work.owner)
					}
				}
			}
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

// The difference between the kinds: an accumulator has added what arrived, a
// reducer has touched nothing before the last arrival.
func TestWhenAReductionWorks(t *testing.T) {
	for wake, want := range map[sdk.Wake][][]float32{sdk.EachArrival: {{2}, {5}}, sdk.LastArrival: {{2}, {3}}} {
		server, _ := newMeans(wake, 3)
		c := &newReduction(t, server, 3).newChunks(1, 3)[0]
		got := [][]float32{{2}, {3}}
		c.take(1, got[1], false)
		c.take(0, got[0], false)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("wake %v, after two of three arrivals: %s", wake, d)
		}
	}
}

func TestReductionAllocatesNothing(t *testing.T) {
	for _, wake := range []sdk.Wake{sdk.EachArrival, sdk.LastArrival} {
		server, _ := newMeans(wake, 3)
		r := newReduction(t, server, 3)
		r.spread = true
		c := &r.newChunks(1, 3)[0]
		gradients := [][]float32{make([]float32, 2*splitElements), make([]float32, 2*splitElements), make([]float32, 2*splitElements)}
		round := func() {
			for trainer, g := range gradients {
				c.take(trainer, g, trainer == 1)
			}
		}
		if n := testing.AllocsPerRun(50, round); n != 0 {
			t.Errorf("wake %v: %v allocations per reduction", wake, n)
		}
	}
}

// Over real links each trainer gets the mean of what all pushed, in every bucket
// and batch, and each bucket is measured once.
func TestElementwiseServers(t *testing.T) {
	specs := []tensor.BucketSpec{
		{Index: 0, Elements: 5},
		{Index: 1, Elements: comm.ChunkElements + splitElements + 3},
		{Index: 2, Elements: 8, Sparse: true, TableRows: 4, Width: 2, Capacity: 4},
	}
	for _, transport := range hosttest.Transports {
		for _, wake := range []sdk.Wake{sdk.EachArrival, sdk.LastArrival} {
			for _, trainers := range []int{1, 3} {
				server, m := newMeans(wake, trainers)
				role, links, stores := openServer(t, transport, server, specs, trainers, hosttest.Patience)
				const batches = 4
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
				for _, name := range []string{"param_index_straggler", "param_index_batch"} {
					if d := cmp.Diff(want, keysOf(timesOf(role, name), before, after)); d != "" {
						t.Errorf("%s, wake %v, %s: %s", transport, wake, name, d)
					}
				}
				for b := range batches {
					delete(want, sdk.Key{A: int64(b), B: 2}.String()) // came by Receive
				}
				if d := cmp.Diff(want, keysOf(m.noted, before, after)); d != "" {
					t.Errorf("%s, wake %v, the server's own times: %s", transport, wake, d)
				}
			}
		}
	}
}

// keysOf counts measurements by key; those that lie outside of a time count as
// something else.
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

// trainAlong pushes every bucket of some batches and checks the answers.
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
			for i, v := range b.Gradient.Values {
				want := float64(value(rank, batch, i))
				if !b.Sparse {
					want = 0
					for r := range trainers {
						want += float64(value(r, batch, i)) / float64(trainers)
					}
				}
				if math.Abs(float64(v)-want) > 1e-5 {
					t.Errorf("trainer %d, batch %d, bucket %d, element %d is %v, want %v", rank, batch, b.Index, i, v, want)
					return
				}
			}
		}
	}
}
