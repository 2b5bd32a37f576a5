package points

import (
	"fmt"
	"math"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/internal/points/toys"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// elementwisePoints are the points of a server that the host runs on blocks. The points come before the points that
// are common to all servers.
func elementwisePoints(part sdk.Part) []harness.Point {
	list := []harness.Point{blockMemory, inBlocks}
	if part.Timing == sdk.OnArrival {
		list = append(list, arrivals)
	}
	if part.Adds {
		list = append(list, adds)
	}
	return list
}

var blockMemory = harness.Point{
	Name:    "memory",
	Promise: "Combine and Finish write only to sum, and not past its end",
	Unseen: "the blocks of Combine and Finish lie in the server's process, where a run cannot " +
		"guard the pages around them",
	Alone: func(s *harness.Subject) error {
		server, err := buildElementwise(s)
		if err != nil {
			return err
		}
		for _, n := range []int{0, 1, 7, 2048, 4099} {
			if err := combineGuarded(server, n); err != nil {
				return fmt.Errorf("%d elements: %w", n, err)
			}
		}
		return nil
	},
}

var inBlocks = harness.Point{
	Name: "blocks",
	Promise: "an element of the answer depends on that element alone: Combine and Finish give " +
		"the same in pieces, and on several goroutines at once, as on the whole",
	Ranks:  2,
	OnRank: samePlaces,
	Alone:  sameBlocks,
}

var adds = harness.Point{
	Name: "adds",
	Promise: "Combine of a server that is declared by sdk.Adding adds, because psbench may push sums " +
		"instead of gradients",
	Unseen: "a run shows what Finish makes of a sum, and not the sum",
	Alone: func(s *harness.Subject) error {
		server, err := buildElementwise(s)
		if err != nil {
			return err
		}
		sum, want, others := elements(0, several), elements(0, several), othersOf(several)
		server.Combine(sum, others)
		for _, other := range others {
			vec.Add(want, other)
		}
		if i := differs(want, sum); i >= 0 {
			return fmt.Errorf("element %d of %d is %g when three gradients are combined, and their sum is %g",
				i, several, sum[i], want[i])
		}
		return nil
	},
}

// combineGuarded combines read-only gradients of n elements.
func combineGuarded(server sdk.ElementwiseServer, n int) error {
	sum, _, free, err := harness.GuardedFloats(n)
	if err != nil {
		return err
	}
	defer free()
	copy(sum, elements(0, n))
	var others [][]float32
	for _, values := range othersOf(n) {
		other, freeze, free, err := harness.GuardedFloats(n)
		if err != nil {
			return err
		}
		defer free()
		copy(other, values)
		if err := freeze(); err != nil {
			return err
		}
		others = append(others, other)
	}
	server.Combine(sum, others)
	server.Finish(sum)
	return harness.Finite("the answer", sum)
}

// samePlaces reduces equal elements at different positions of buckets of different sizes.
func samePlaces(r *harness.Rank) error {
	const period = 7
	var buckets []*tensor.Bucket
	var futures []*comm.Future
	for _, b := range r.Buckets {
		if b.Sparse || b.Elements < period {
			continue
		}
		for i := range b.Gradient.Values {
			b.Gradient.Values[i] = toys.Number(r.Position*104729 + i%period)
		}
		buckets, futures = append(buckets, b), append(futures, r.Hook.Reduce(batchState(0), b))
	}
	for i, f := range futures {
		if err := harness.Within(r.Subject.Patience(), f.Wait); err != nil {
			return err
		}
		first := buckets[0].Gradient.Values[:period]
		for k, v := range buckets[i].Gradient.Values {
			if want := first[k%period]; math.Abs(float64(v-want)) > 1e-5*max(1, math.Abs(float64(want))) {
				return fmt.Errorf(
					"the same gradients have the answer %g as element %d of %d, and %g as element %d of %d",
					v, k, buckets[i].Elements, want, k%period, buckets[0].Elements)
			}
		}
	}
	return nil
}

// sameBlocks combines whole gradients, and the same gradients in blocks on several goroutines at once.
func sameBlocks(s *harness.Subject) error {
	server, err := buildElementwise(s)
	if err != nil {
		return err
	}
	whole, parts, others := elements(0, several), elements(0, several), othersOf(several)
	server.Combine(whole, others)
	server.Finish(whole)
	var blocks sync.WaitGroup
	for _, at := range [][2]int{{0, 1}, {1, 8}, {8, 519}, {519, several}} {
		from, to := at[0], at[1]
		blocks.Go(func() {
			server.Combine(parts[from:to:to], [][]float32{others[0][from:to:to], others[1][from:to:to]})
			server.Finish(parts[from:to:to])
		})
	}
	blocks.Wait()
	for i := range whole {
		if math.Float32bits(whole[i]) != math.Float32bits(parts[i]) {
			return fmt.Errorf("element %d of %d is %g when the gradients are combined whole and %g when they are cut "+
				"into blocks",
				i, several, whole[i], parts[i])
		}
	}
	return nil
}

// several is a number of elements that is not a multiple of any power-of-two block.
const several = 1031

// elements returns the n values of gradient number k.
func elements(k, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = toys.Number(k*7919 + i)
	}
	return x
}

// othersOf returns the gradients of two further trainers.
func othersOf(n int) [][]float32 { return [][]float32{elements(1, n), elements(2, n)} }

// differs returns the first element that differs by more than the rounding of sums; -1: none.
func differs(a, b []float32) int {
	for i, v := range a {
		if !(math.Abs(float64(v-b[i])) <= 1e-5*max(1, math.Abs(float64(v)))) {
			return i
		}
	}
	return -1
}

// buildElementwise builds the server for three trainers.
func buildElementwise(s *harness.Subject) (sdk.ElementwiseServer, error) {
	env := s.Environment().(sdk.ServerEnv)
	env.Trainers, env.Engine = 3, engine.Host
	made, err := s.BuildIn(s.BuiltWith(), env)
	if err != nil {
		return nil, err
	}
	server, ok := made.(sdk.ElementwiseServer)
	if !ok {
		return nil, fmt.Errorf("a %T is no sdk.ElementwiseServer", made)
	}
	return server, nil
}
