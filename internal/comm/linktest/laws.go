package linktest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
)

// The laws in this file hold for links over every transport. Each law runs
// several batches with one bucket per spec. filled(rank, k) returns a rank's
// bucket k with new contents.

// RequireMeans has trainers push to an averaging server. RequireMeans requires
// that all trainers get the mean, with equal bits.
func RequireMeans[L comm.PushPuller](t commtest.TB, links []L, specs []tensor.BucketSpec, batches int64,
	filled func(trainer, k int) *tensor.Bucket) {
	t.Helper()
	for batch := range batches {
		for k, spec := range specs {
			var buckets []*tensor.Bucket
			for i := range links {
				buckets = append(buckets, filled(i, k))
			}
			want := commtest.Sum(spec, buckets)
			divide(want, len(links))
			var futures []*comm.Future
			for i, b := range buckets {
				futures = append(futures, links[i].PushPull(batch, b))
			}
			requireDone(t, futures)
			requireAll(t, spec, buckets, want)
		}
	}
}

// RequireSums has members start the all-reduce, or the average, of all buckets
// in some order. RequireSums requires that all members get the sum or the mean,
// with equal bits.
func RequireSums[G comm.Group](t *rapid.T, groups []G, specs []tensor.BucketSpec, batches int64,
	filled func(member, k int) *tensor.Bucket) {
	t.Helper()
	for i, g := range groups {
		if g.Size() != len(groups) || g.Position() != i {
			t.Fatalf("member %d of %d is %d of %d", i, len(groups), g.Position(), g.Size())
		}
	}
	for batch := range batches {
		buckets, want := make([][]*tensor.Bucket, len(specs)), make([][]float64, len(specs))
		for k, spec := range specs {
			for i := range groups {
				buckets[k] = append(buckets[k], filled(i, k))
			}
			want[k] = commtest.Sum(spec, buckets[k])
		}
		mean, order := rapid.Bool().Draw(t, "mean"), make([]int, len(specs))
		for k := range order {
			order[k] = k
			if mean {
				divide(want[k], len(groups))
			}
		}
		order = rapid.Permutation(order).Draw(t, "order")
		var futures []*comm.Future
		for i, g := range groups { // the first member starts all its buckets before the second starts any
			for _, k := range order {
				reduce := g.AllReduce
				if mean {
					reduce = g.Average
				}
				futures = append(futures, reduce(batch, buckets[k][i]))
			}
		}
		requireDone(t, futures)
		for k, spec := range specs {
			requireAll(t, spec, buckets[k], want[k])
		}
	}
}

// RequireBroadcasts broadcasts all buckets from one root. Each member waits for
// its own futures and then enters a barrier. Every member must get the root's
// bits.
func RequireBroadcasts[G comm.Group](t *rapid.T, groups []G, specs []tensor.BucketSpec, batches int64,
	filled func(member, k int) *tensor.Bucket) {
	t.Helper()
	for batch := range batches {
		root := rapid.IntRange(0, len(groups)-1).Draw(t, "root")
		want := make([]tensor.Gradient, len(specs))
		buckets := make([][]*tensor.Bucket, len(groups))
		for i := range groups {
			for k, spec := range specs {
				b := filled(i, k)
				buckets[i] = append(buckets[i], b)
				if i == root {
					want[k] = tensor.NewGradient(spec)
					commtest.Must(t, want[k].CopyFrom(&b.Gradient))
				}
			}
		}
		var members sync.WaitGroup
		errs := make([]error, len(groups))
		for i, g := range groups {
			members.Go(func() {
				var futures []*comm.Future
				for _, b := range buckets[i] {
					futures = append(futures, g.Broadcast(batch, b, root))
				}
				for _, f := range futures {
					errs[i] = errors.Join(errs[i], f.Wait())
				}
				errs[i] = errors.Join(errs[i], g.Barrier())
			})
		}
		members.Wait()
		commtest.Must(t, errors.Join(errs...))
		for i := range groups {
			for k, b := range buckets[i] {
				commtest.RequireSame(t, &b.Gradient, &want[k])
			}
		}
	}
}

// RequireBarriers requires that no member leaves a barrier before every member
// has reached it, whichever member is late. In every second round an all-reduce
// is in flight.
func RequireBarriers[G comm.Group](t *testing.T, groups []G, rounds int64, bucket func(member int) *tensor.Bucket) {
	t.Helper()
	var reached atomic.Int64
	p := NewTogether(len(groups), func(rank int) error {
		b := bucket(rank)
		for round := range rounds {
			if round%5 == int64(rank) {
				time.Sleep(time.Millisecond)
			}
			f := comm.Completed(nil)
			if round%2 == 1 {
				f = groups[rank].AllReduce(round, b)
			}
			reached.Add(1)
			if err := groups[rank].Barrier(); err != nil {
				return err
			}
			if reached.Load() < (round+1)*int64(len(groups)) {
				return errors.New("a member left the barrier before all had reached it")
			}
			if err := f.Wait(); err != nil {
				return err
			}
		}
		return nil
	})
	defer p.Close()
	p.Round(t)
}

// divide turns sums into means.
func divide(sums []float64, by int) {
	for i := range sums {
		sums[i] /= float64(by)
	}
}

func requireDone(t commtest.TB, futures []*comm.Future) {
	t.Helper()
	for _, f := range futures {
		commtest.Must(t, f.Wait())
	}
}

// requireAll requires that all ranks' buckets have equal bits and are near
// want.
func requireAll(t commtest.TB, spec tensor.BucketSpec, buckets []*tensor.Bucket, want []float64) {
	t.Helper()
	for _, b := range buckets {
		commtest.RequireNear(t, commtest.Table(spec, &b.Gradient), want)
		commtest.RequireSame(t, &b.Gradient, &buckets[0].Gradient)
	}
}
