// Command flipping is a plugin with a parameter server that averages, but for one
// bit: the last one of element 17 in one answer of batch 7. psbench comm must
// notice.
package main

import (
	"math"
	"sync"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugin"
)

// server keeps the pushes of each bucket until all trainers have pushed it.
type server struct {
	trainers int
	mu       sync.Mutex
	waiting  [][]sdk.Push
}

func (s *server) Reset() {}

func (s *server) Receive(p sdk.Push) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	pushes := append(s.waiting[p.Bucket], p)
	if s.waiting[p.Bucket] = pushes; len(pushes) < s.trainers {
		return nil
	}
	s.waiting[p.Bucket] = nil
	mean := pushes[0].Gradient
	for i := range mean.Values {
		for _, p := range pushes[1:] {
			mean.Values[i] += p.Gradient.Values[i]
		}
		mean.Values[i] /= float32(len(pushes))
	}
	for i := len(pushes) - 1; i >= 0; i-- { // last to the one whose gradient holds the mean
		p := pushes[i]
		if p.Batch == 7 && i == 0 {
			mean.Values[17] = math.Float32frombits(math.Float32bits(mean.Values[17]) ^ 1)
		}
		if err := p.Answer(mean); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	plugin.Serve(sdk.NewServer("flipping", struct{}{}, func(_ struct{}, env sdk.ServerEnv) (sdk.Server, error) {
		return &server{trainers: env.Trainers, waiting: make([][]sdk.Push, len(env.Buckets))}, nil
	}))
}
