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
	// MostSamples bounds a batch, where memory for batches was allocated; 0: nothing does.
	MostSamples int

	trainer sdk.Trainer // that is tested; nil of other kinds
	subject *Subject
	noted   map[string]string // in pass 0
	output  tensor.Tensor     // that a criterion was given last
}

// NewRank makes a rank that is about to carry points out on s.
func NewRank(s *Subject, parts sdk.TrainerParts, position, size int) *Rank {
	return &Rank{TrainerParts: parts, Position: position, Size: size, Told: map[string]string{}, subject: s, noted: map[string]string{}}
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

// number is a value between -1 and 1 that n decides, a multiple of 1/64.
func number(n int) float32 {
	x := uint32(n)*2654435761 + 12345 // #nosec G115 -- any bits do
	x ^= x >> 15
	x *= 2246822519
	x ^= x >> 13
	return float32(int(x%127)-63) / 64
}
