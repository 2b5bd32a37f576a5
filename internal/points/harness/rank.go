package harness

import (
	"fmt"
	"hash/crc32"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/sdk"
)

// Rank is a trainer that carries out a point with the parts that it got. One of these parts is tested.
type Rank struct {
	sdk.TrainerParts
	Position, Size int
	Pass           int // number of the pass, from 0; a reset precedes each pass
	// Told has digests that must be the same on all ranks, by the name of the values.
	Told map[string]string
	// Samples is the size of the largest batch.
	Samples int

	Subject *Subject
	// Trainer is the tested trainer; nil for parts of other kinds.
	Trainer sdk.Trainer
	// TableBatch is the number of the next table call.
	TableBatch int64

	plan    []tensor.BucketSpec
	inputs  sdk.InputSpec     // inputs of its data
	traffic sdk.Traffic       // plan of its hook
	calls   *ledger           // calls of its parts
	noted   map[string]string // digests of pass 0
}

// NewRank returns a rank that is ready to carry out a point on s.
func NewRank(s *Subject, p Point, parts sdk.TrainerParts, position, size int) *Rank {
	return &Rank{
		TrainerParts: parts, Position: position, Size: size, Told: map[string]string{}, Samples: s.samples(p),
		Subject: s, noted: map[string]string{},
	}
}

// Disorder returns an error for the first out-of-order call of the rank's parts.
func (r *Rank) Disorder() error { return r.calls.wrong }

// Same records values that must be equal on all ranks.
func (r *Rank) Same(what string, g *tensor.Gradient) { r.Told[what] = Digest(g) }

// Again compares values with the values of the first pass.
func (r *Rank) Again(what string, g *tensor.Gradient) error {
	now := Digest(g)
	if r.Pass == 0 {
		r.noted[what] = now
	} else if before := r.noted[what]; before != now {
		return fmt.Errorf("%s is %s in the first pass and %s in the second", what, before, now)
	}
	return nil
}

// Digest returns a short text for comparing gradients: the first values and a checksum of all.
func Digest(g *tensor.Gradient) string {
	sum := crc32.Update(crc32.ChecksumIEEE(tensor.Int32Bytes(g.Rows)), crc32.IEEETable, tensor.Float32Bytes(g.Values))
	return fmt.Sprintf("%.6g (%d values, %d rows, checksum %08x)",
		g.Values[:min(3, len(g.Values))], len(g.Values), len(g.Rows), sum)
}

// Finite returns an error if a value is not finite.
func Finite(what string, values []float32) error {
	for i, v := range values {
		if !numeral.Finite(float64(v)) {
			return fmt.Errorf("%s has %g at element %d of %d", what, v, i, len(values))
		}
	}
	return nil
}
