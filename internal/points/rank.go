package points

import (
	"fmt"
	"hash/crc32"
	"math"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// Rank is a trainer that carries a point out, with the parts that it was given; one of them is
// tested.
type Rank struct {
	sdk.TrainerParts
	Position, Size int
	Pass           int // from 0; each began with a reset
	// Told are digests that must be the same on all ranks, by what they are of.
	Told map[string]string
	// Samples are those of the largest batch.
	Samples int

	trainer sdk.Trainer // that is tested; nil of other kinds
	plan    []tensor.BucketSpec
	batch   int64         // of the next call about tables
	inputs  sdk.InputSpec // of its data
	calls   *ledger       // of the parts that it has
	subject *Subject
	noted   map[string]string // in pass 0
	output  tensor.Tensor     // that a criterion was given last, with its
	targets []int64
}

// NewRank makes a rank that is about to carry a point out on s.
func NewRank(s *Subject, p Point, parts sdk.TrainerParts, position, size int) *Rank {
	return &Rank{TrainerParts: parts, Position: position, Size: size, Told: map[string]string{}, Samples: s.samples(p), subject: s, noted: map[string]string{}}
}

// same notes values that must be equal on all ranks.
func (r *Rank) same(what string, g *tensor.Gradient) { r.Told[what] = digest(g) }

// again compares values with those of the first pass.
func (r *Rank) again(what string, g *tensor.Gradient) error {
	now := digest(g)
	if r.Pass == 0 {
		r.noted[what] = now
	} else if before := r.noted[what]; before != now {
		return fmt.Errorf("%s is %s in the first pass and %s in the second", what, before, now)
	}
	return nil
}

// digest tells gradients apart: their first values, and a checksum of all.
func digest(g *tensor.Gradient) string {
	sum := crc32.Update(crc32.ChecksumIEEE(tensor.Int32Bytes(g.Rows)), crc32.IEEETable, tensor.Float32Bytes(g.Values))
	return fmt.Sprintf("%.6g (%d values, %d rows, checksum %08x)", g.Values[:min(3, len(g.Values))], len(g.Values), len(g.Rows), sum)
}

// finite reports a value that is not.
func finite(what string, values []float32) error {
	for i, v := range values {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("%s has %g at element %d of %d", what, v, i, len(values))
		}
	}
	return nil
}
