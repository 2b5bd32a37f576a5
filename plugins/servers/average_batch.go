package servers

import (
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk"
)

// averageBatch keeps the gradients and reduces them in rank order once the
// last one has arrived: a bucket of n elements costs n*(T-1) additions and n
// multiplications, all of them after the last arrival; with one trainer, nothing.
type averageBatch struct {
	buckets  []batchSum
	computed *sdk.Series
}

// batchSum is what one bucket needs for its reduction.
type batchSum struct {
	mu     sync.Mutex
	parts  [][]float32
	sparse tensor.Gradient
	merger *tensor.RowMerger
}

var _ sdk.ElementwiseReducer = (*averageBatch)(nil)

func newAverageBatch(_ noSettings, env sdk.ServerEnv) (sdk.Server, error) {
	s := &averageBatch{computed: averageComputation(env), buckets: make([]batchSum, len(env.Buckets))}
	for i, spec := range env.Buckets {
		b := &s.buckets[i]
		b.parts = make([][]float32, env.Trainers)
		if spec.Sparse {
			b.sparse = tensor.NewGradient(spec)
			b.merger = tensor.NewRowMerger(env.Trainers)
		}
	}
	return s, nil
}

func (s *averageBatch) Wake() sdk.Wake { return sdk.LastArrival }

// Receive holds the bucket's lock until all are answered: a trainer that has
// its answer may push the next batch while the others still read the mean.
func (s *averageBatch) Receive(pushes []*sdk.Push) error {
	key := sdk.Key{A: pushes[0].Batch, B: int64(pushes[0].Bucket)}
	b := &s.buckets[pushes[0].Bucket]
	b.mu.Lock()
	defer b.mu.Unlock()
	start := comm.Now()
	mean, err := s.mean(b, pushes)
	if err != nil {
		return err
	}
	s.computed.Record(key, start, comm.Now())
	// Rank 0 comes last: a dense mean lies in its gradient, which its trainer
	// may overwrite once it is answered.
	for i := len(pushes) - 1; i >= 0; i-- {
		if err := pushes[i].Answer(mean); err != nil {
			return err
		}
	}
	return nil
}

func (s *averageBatch) mean(b *batchSum, pushes []*sdk.Push) (*tensor.Gradient, error) {
	if !pushes[0].Gradient.Sparse() {
		for i, p := range pushes {
			b.parts[i] = p.Gradient.Values
		}
		s.Reduce(b.parts[0], b.parts)
		return pushes[0].Gradient, nil
	}
	b.merger.Reset()
	for _, p := range pushes {
		b.merger.Add(p.Gradient)
	}
	if err := b.merger.Sum(&b.sparse); err != nil {
		return nil, err
	}
	vec.Scale(1/float32(len(pushes)), b.sparse.Values)
	return &b.sparse, nil
}

// reduceBlock is how many elements are reduced at a time, so that a block of
// the sum stays in the first-level cache while the parts stream past it.
const reduceBlock = 4096

// Reduce implements sdk.ElementwiseReducer: dst = mean of parts.
func (s *averageBatch) Reduce(dst []float32, parts [][]float32) {
	if len(dst) == 0 {
		return
	}
	inPlace := &dst[0] == &parts[0][0]
	if inPlace && len(parts) == 1 {
		return
	}
	scale := 1 / float32(len(parts))
	for from := 0; from < len(dst); from += reduceBlock {
		to := min(from+reduceBlock, len(dst))
		sum := dst[from:to]
		if !inPlace {
			copy(sum, parts[0][from:to])
		}
		for _, p := range parts[1:] {
			vec.Add(sum, p[from:to])
		}
		vec.Scale(scale, sum)
	}
}

// Reduced implements sdk.ElementwiseReducer.
func (s *averageBatch) Reduced(key sdk.Key, startNS, endNS int64) {
	s.computed.Record(key, startNS, endNS)
}

// Reset has nothing to forget: all state lives within one Receive.
func (s *averageBatch) Reset() {}
