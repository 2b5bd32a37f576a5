package linktest

import (
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
)

// Averager is a test server. When the last trainer's push or chunk arrives, it
// answers all trainers with the mean.
type Averager struct {
	// Of is the divisor of the mean, initially the number of pushing trainers.
	// Set it higher if some trainers push for others as well.
	Of int

	mu       sync.Mutex
	trainers int               // number of trainers that push
	rounds   map[[2]int]*round // by bucket and chunk
	means    map[int]tensor.Gradient
	merger   *tensor.RowMerger
}

type round struct {
	arrivals []*comm.Arrival
	mean     tensor.Gradient
}

// NewAverager makes an averager for this many pushing trainers, for whole
// pushes or chunks.
func NewAverager(trainers int, specs []tensor.BucketSpec) *Averager {
	s := &Averager{Of: trainers, trainers: trainers, rounds: map[[2]int]*round{}, means: map[int]tensor.Gradient{},
		merger: tensor.NewRowMerger(trainers)}
	for i := range specs {
		s.means[specs[i].Index] = tensor.NewGradient(specs[i])
		for k := range comm.Chunks(specs[i].Elements) {
			s.rounds[[2]int{specs[i].Index, k}] = &round{arrivals: make([]*comm.Arrival, 0, trainers)}
		}
	}
	return s
}

// mean returns the memory for the mean of a push or chunk.
func (s *Averager) mean(a *comm.Arrival) tensor.Gradient {
	m := s.means[a.Bucket]
	if a.Chunks > 1 {
		first := a.Chunk * comm.ChunkElements
		m.Values = m.Values[first : first+len(a.Gradient.Values)]
	}
	return m
}

// Handle is the handler for comm.Port.Serve.
func (s *Averager) Handle(a *comm.Arrival) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rounds[[2]int{a.Bucket, a.Chunk}]
	r.arrivals = append(r.arrivals, a)
	if len(r.arrivals) < s.trainers {
		return nil
	}
	pending, mean := r.arrivals, &r.mean
	r.arrivals, r.mean = pending[:0], s.mean(a)
	if mean.Sparse() {
		s.merger.Reset()
		for _, a := range pending {
			s.merger.Add(a.Gradient)
		}
		if err := s.merger.Sum(mean); err != nil {
			return err
		}
	} else {
		copy(mean.Values, pending[0].Gradient.Values)
		for _, a := range pending[1:] {
			vec.Add(mean.Values, a.Gradient.Values)
		}
	}
	vec.Scale(1/float32(s.Of), mean.Values)
	for _, a := range pending {
		if err := a.Answer(mean); err != nil {
			return err
		}
	}
	return nil
}
