// Command stale is a plugin with two servers that do not wait for all of their trainers. Both
// answer a gradient with the mean of the last ones of the trainers that still train. Server
// eager does so at once; server stale has a trainer wait that is too many batches ahead of the
// slowest one, as a stale-synchronous server does (Ho et al., "More Effective Distributed ML via a
// Stale Synchronous Parallel Parameter Server", 2013).
package main

import (
	"fmt"
	"math"
	"sync"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugin"
)

func main() {
	plugin.Serve(
		sdk.Asynchronous(sdk.NewServer("eager", struct{}{}, func(_ struct{}, env sdk.ServerEnv) (sdk.Server, error) {
			return newServer(math.MaxInt64, env)
		})),
		sdk.Asynchronous(sdk.NewServer("stale", settings{Staleness: 3},
			func(s settings, env sdk.ServerEnv) (sdk.Server, error) {
				if s.Staleness < 0 {
					return nil, fmt.Errorf("setting staleness is %d but must be 0 or more", s.Staleness)
				}
				return newServer(s.Staleness, env)
			})),
	)
}

type settings struct {
	Staleness int64 `json:"staleness" doc:"how many batches a trainer may be ahead of the slowest one; 0: none, all wait for all"`
}

type server struct {
	staleness int64

	mu      sync.Mutex
	all     []int // batches of the pass, by trainer
	buckets []bucket
}

// bucket is what a server knows of a bucket.
type bucket struct {
	trainers []trainer
	mean     tensor.Gradient
}

// trainer is what a trainer has pushed of a bucket.
type trainer struct {
	batches int // pushed in this pass
	waits   bool
	push    sdk.Push // the last one
	last    []float32
}

func newServer(staleness int64, env sdk.ServerEnv) (sdk.Server, error) {
	s := &server{staleness: staleness, all: make([]int, env.Trainers)}
	for i, spec := range env.Buckets {
		if spec.Sparse {
			return nil, fmt.Errorf("bucket %d is sparse, and this server keeps dense gradients alone", i)
		}
		b := bucket{trainers: make([]trainer, env.Trainers), mean: tensor.NewGradient(spec)}
		for t := range b.trainers {
			b.trainers[t].last = make([]float32, spec.Elements)
		}
		s.buckets = append(s.buckets, b)
	}
	return s, nil
}

// Reset implements sdk.Server.
func (s *server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.buckets {
		for t := range b.trainers {
			b.trainers[t].batches, b.trainers[t].waits = 0, false
		}
	}
}

// Expect implements sdk.Expecter: nobody is to wait for a trainer that has no batches left. Where
// the end of a pass becomes known during it, somebody may wait for one already.
func (s *server) Expect(batches []int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := range s.all {
		s.all[t] = math.MaxInt
		if batches != nil {
			s.all[t] = batches[t]
		}
	}
	for i := range s.buckets {
		if err := s.settle(&s.buckets[i]); err != nil {
			return err
		}
	}
	return nil
}

// Receive implements sdk.Server.
func (s *server) Receive(p sdk.Push) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &s.buckets[p.Bucket]
	t := &b.trainers[p.Trainer]
	copy(t.last, p.Gradient.Values)
	t.push, t.waits = p, true
	t.batches++
	return s.settle(b)
}

// settle answers those who wait and may go on.
func (s *server) settle(b *bucket) error {
	slowest := math.MaxInt
	for i := range b.trainers {
		if n := b.trainers[i].batches; n < s.all[i] {
			slowest = min(slowest, n)
		}
	}
	meant := false
	for i := range b.trainers {
		t := &b.trainers[i]
		if !t.waits || int64(t.batches-slowest) > s.staleness {
			continue
		}
		if !meant {
			s.average(b)
			meant = true
		}
		if err := t.push.Answer(&b.mean); err != nil {
			return err
		}
		t.waits = false
	}
	return nil
}

// average takes the mean of the last gradients of those who wait or have batches left.
func (s *server) average(b *bucket) {
	n := 0
	clear(b.mean.Values)
	for i := range b.trainers {
		if t := &b.trainers[i]; t.waits || t.batches > 0 && t.batches < s.all[i] {
			vec.Add(b.mean.Values, t.last)
			n++
		}
	}
	vec.Scale(1/float32(n), b.mean.Values)
}
