package points

import (
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/points/toys"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// once and late are those of servers that are handed whole pushes.
var once = Point{
	Name:    "once",
	Promise: "each push is answered once, with a gradient, and Receive waits for no other push",
	Ranks:   3,
	rank: func(r *Rank) error {
		time.Sleep(time.Duration(r.Position) * moment)
		defer time.Sleep(moment) // for answers that are too many
		return r.reduceAll(0, ofRank)
	},
	alone: func(s *Subject) error {
		const trainers = 3
		env := s.environment().(sdk.ServerEnv)
		env.Trainers, env.Buckets = trainers, s.buckets(false)
		if s.Part.Serves == sdk.ServiceParameters {
			env.Model = &toys.Sizes{DenseOnly: true}
		}
		made, err := s.buildIn(s.settings(), env)
		if err != nil {
			return err
		}
		defer closePart(made)
		server := made.(sdk.Server)
		server.Reset()
		if e, ok := made.(sdk.Expecter); ok {
			if err := e.Expect([]int{3, 3, 3}); err != nil {
				return err
			}
		}
		var mu sync.Mutex
		answers := map[sdk.Key]int{} // by batch, bucket and trainer
		var wrong error
		answer := func(p sdk.Push, g *tensor.Gradient) error {
			mu.Lock()
			defer mu.Unlock()
			key := sdk.Key{A: p.Batch, B: int64(p.Bucket*trainers + p.Trainer)}
			switch answers[key]++; {
			case answers[key] > 1:
				wrong = fmt.Errorf("batch %d, bucket %d of trainer %d is answered twice", p.Batch, p.Bucket, p.Trainer)
			case g == nil:
				wrong = fmt.Errorf("batch %d, bucket %d of trainer %d is answered with no gradient", p.Batch, p.Bucket, p.Trainer)
			}
			return nil
		}
		for batch := range int64(3) {
			for trainer := range trainers {
				for i := range env.Buckets {
					g := tensor.NewGradient(env.Buckets[i])
					push := sdk.NewPush(sdk.Push{Batch: batch, Bucket: i, Trainer: trainer, Number: batch + 1, Gradient: &g}, answer)
					if err := within(s.timeout(), func() error { return server.Receive(push) }); err != nil {
						return fmt.Errorf("Receive of trainer %d, while %d others are still to come: %w", trainer, trainers-1-trainer, err)
					}
				}
			}
		}
		time.Sleep(10 * time.Millisecond) // for answers of goroutines of its own
		mu.Lock()
		defer mu.Unlock()
		return wrong
	},
}

var late = Point{
	Name:    "late",
	Promise: "no push is answered once its pass is over",
	Ranks:   2,
	Passes:  2,
	rank: func(r *Rank) error {
		time.Sleep(moment)
		defer time.Sleep(moment)
		return r.reduceAll(0, ofRank)
	},
}

// moment is long enough for what comes too late.
const moment = 30 * time.Millisecond

// elementwisePoints are those of servers that the host runs on blocks.
var elementwisePoints = []Point{
	{
		Name:    "memory",
		Promise: "Combine and Finish write to sum alone, and not behind its end",
		Unseen:  "the blocks that Combine and Finish get lie in the server's process, beside which a run can guard no page",
		alone: func(s *Subject) error {
			server, err := s.elementwise()
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
	},
	{
		Name:    "blocks",
		Promise: "an element of the answer depends on that element alone: in pieces, and on several goroutines at once, Combine and Finish give what they give on the whole",
		Ranks:   2,
		rank:    samePlaces,
		alone: func(s *Subject) error {
			server, err := s.elementwise()
			if err != nil {
				return err
			}
			const n = 1031
			whole, parts := elements(0, n), elements(0, n)
			others := [][]float32{elements(1, n), elements(2, n)}
			server.Combine(whole, others)
			server.Finish(whole)
			var blocks sync.WaitGroup
			for _, at := range [][2]int{{0, 1}, {1, 8}, {8, 519}, {519, n}} {
				blocks.Go(func() {
					server.Combine(parts[at[0]:at[1]:at[1]], [][]float32{others[0][at[0]:at[1]:at[1]], others[1][at[0]:at[1]:at[1]]})
					server.Finish(parts[at[0]:at[1]:at[1]])
				})
			}
			blocks.Wait()
			for i := range whole {
				if math.Float32bits(whole[i]) != math.Float32bits(parts[i]) {
					return fmt.Errorf("element %d of %d is %g when the gradients are combined whole and %g when they are cut into blocks", i, n, whole[i], parts[i])
				}
			}
			return nil
		},
	},
}

// samePlaces has equal elements reduced at different places of buckets of different sizes.
func samePlaces(r *Rank) error {
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
		if err := within(r.subject.timeout(), f.Wait); err != nil {
			return err
		}
		first := buckets[0].Gradient.Values[:period]
		for k, v := range buckets[i].Gradient.Values {
			if want := first[k%period]; math.Abs(float64(v-want)) > 1e-5*max(1, math.Abs(float64(want))) {
				return fmt.Errorf("the same gradients have the answer %g as element %d of %d, and %g as element %d of %d", v, k, buckets[i].Elements, want, k%period, buckets[0].Elements)
			}
		}
	}
	return nil
}

// combineGuarded combines gradients of n elements that may not be written.
func combineGuarded(server sdk.ElementwiseServer, n int) error {
	sum, _, free, err := guardedFloats(n)
	if err != nil {
		return err
	}
	defer free()
	copy(sum, elements(0, n))
	var others [][]float32
	for k := range 2 {
		other, freeze, free, err := guardedFloats(n)
		if err != nil {
			return err
		}
		defer free()
		copy(other, elements(k+1, n))
		if err := freeze(); err != nil {
			return err
		}
		others = append(others, other)
	}
	server.Combine(sum, others)
	server.Finish(sum)
	return finite("the answer", sum)
}

// elements are n values of a gradient that k numbers.
func elements(k, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = toys.Number(k*7919 + i)
	}
	return x
}

// elementwise builds the server for three trainers.
func (s *Subject) elementwise() (sdk.ElementwiseServer, error) {
	env := s.environment().(sdk.ServerEnv)
	env.Trainers, env.Engine = 3, engine.Host
	made, err := s.buildIn(s.settings(), env)
	if err != nil {
		return nil, err
	}
	server, ok := made.(sdk.ElementwiseServer)
	if !ok {
		return nil, fmt.Errorf("a %T is no sdk.ElementwiseServer", made)
	}
	return server, nil
}

// closePart closes a part that wants to be.
func closePart(made any) {
	if c, ok := made.(io.Closer); ok {
		_ = c.Close() // its errors are the business of another point
	}
}

// serverPoints are those of a server, by its sort.
func serverPoints(part sdk.Part) []Point {
	var added []Point
	if part.Adds {
		added = append(added, adds)
	}
	switch {
	case part.Serves == sdk.ServiceTables:
		return tablePoints
	case part.Timing == sdk.OnArrival:
		return slices.Concat(elementwisePoints, []Point{arrivals}, added, reductionPoints)
	case part.Timing != 0:
		return slices.Concat(elementwisePoints, added, reductionPoints)
	}
	last := len(reductionPoints) - 1
	return slices.Concat([]Point{once}, reductionPoints[:last], []Point{late}, reductionPoints[last:])
}
