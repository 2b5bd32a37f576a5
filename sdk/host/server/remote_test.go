package server

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
)

// far is a gradient in another process.
type far struct {
	values []float32
	broken error
	given  atomic.Int64 // elements
}

func (f *far) Fetch(dst []float32, from int) error {
	copy(dst, f.values[from:from+len(dst)])
	return f.broken
}

func (f *far) Give(src []float32, from int) error {
	f.given.Add(int64(copy(f.values[from:from+len(src)], src)))
	return f.broken
}

// untouchable stands for the values of a remote gradient: none of them may get anywhere.
func untouchable(n int) []float32 {
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(math.NaN())
	}
	return values
}

// Wherever gradients are, the answer has the bits that it has where all are mapped.
func TestRemoteReductionHasTheSameBits(t *testing.T) {
	for _, timing := range timings {
		var reductions []*reduction
		for trainers := 1; trainers <= 5; trainers++ {
			r := newReduction(t, timing, mean(trainers), trainers)
			r.spread = true
			reductions = append(reductions, r)
		}
		rapid.Check(t, func(t *rapid.T) {
			trainers := rapid.IntRange(1, len(reductions)).Draw(t, "trainers")
			r := reductions[trainers-1]
			n := rapid.SampledFrom([]int{0, 1, comm.BlockElements + 1, remoteShareElements - 1, splitElements, 5*remoteShareElements + 7}).Draw(t, "elements")
			c := &r.newChunks(denseOf(n), trainers)[0]
			order := rapid.Permutation(positions(trainers)).Draw(t, "order")
			var want []float32
			var remotes []*far
			for batch := range 3 {
				got := make([][]float32, trainers)
				for _, f := range remotes {
					f.given.Store(0)
				}
				for _, trainer := range order {
					values := make([]float32, n)
					for i := range values {
						values[i] = value(trainer, 0, i)
					}
					got[trainer] = values
					a := arrival(trainer, values, rapid.Bool().Draw(t, "more"))
					if batch > 0 && rapid.Bool().Draw(t, "remote") {
						remotes = append(remotes, &far{values: values})
						a.Gradient, a.Remote = &tensor.Gradient{Values: untouchable(n)}, remotes[len(remotes)-1]
					}
					_, last, err := c.add(a)
					if err != nil {
						t.Fatal(err)
					}
					if !last && slices.ContainsFunc(remotes, func(f *far) bool { return f.given.Load() > 0 }) {
						t.Fatalf("batch %d: a trainer was given something before all had come", batch)
					}
				}
				if batch == 0 {
					want = slices.Clone(got[0])
				}
				for trainer, values := range got {
					if !slices.Equal(values, want) {
						t.Fatalf("batch %d: trainer %d got other bits", batch, trainer)
					}
				}
			}
		})
	}
}

// A trainer whose memory is gone ends the reduction with its error.
func TestRemoteReductionFails(t *testing.T) {
	gone := errors.New("the trainer has ended")
	for trainers := 1; trainers <= 2; trainers++ {
		c := &newReduction(t, timings[0], mean(trainers), trainers).newChunks(denseOf(splitElements), trainers)[0]
		for trainer := range trainers {
			a := arrival(trainer, untouchable(splitElements), false)
			a.Remote = &far{values: make([]float32, splitElements), broken: gone}
			if _, last, err := c.add(a); last && !errors.Is(err, gone) || !last && err != nil {
				t.Errorf("arrival %d of %d gave %v", trainer, trainers, err)
			}
		}
	}
}

func TestRemoteReductionDoesNotAllocate(t *testing.T) {
	r := newReduction(t, timings[0], mean(2), 2)
	c := &r.newChunks(denseOf(splitElements), 2)[0]
	var arrivals []*comm.Arrival
	for trainer := range 2 {
		a := arrival(trainer, untouchable(splitElements), false)
		a.Remote = &far{values: make([]float32, splitElements)}
		arrivals = append(arrivals, a)
	}
	round := func() {
		for _, a := range arrivals {
			if _, _, err := c.add(a); err != nil {
				t.Error(err)
			}
		}
	}
	for range 20 { // until every helper has come once
		round()
	}
	if allocs := testing.AllocsPerRun(50, round); allocs >= 1 {
		t.Errorf("a round allocates %g times", allocs)
	}
}
