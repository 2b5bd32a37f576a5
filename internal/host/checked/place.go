// Package checked keeps slices of what a process gives to its links, and of what it gets back, so
// that the core can recompute them once the pass is over.
package checked

import (
	"math/bits"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/splitmix"
)

// SliceBytes is the size of a slice at most, row numbers included.
const SliceBytes = 4 << 10

// elements is the maximum number of elements of a slice.
const elements = SliceBytes / 4

// Place is where the slice of a bucket lies in an iteration: at a place that is drawn from seed,
// batch and bucket, and so is the same on all ranks.
//
//	dense       Span elements from From on; where Edge is not 0, the first Edge elements, Span-2*Edge from
//	            From on, and the last Edge
//	all-to-all  the same of each of Blocks blocks of Stride elements
//	sparse      the first Rows that the gradient has of the Table rows from From on, those before
//	            From after the last one, and of each Span columns from Column on; where Down is set, those
//	            from From down to the first row
type Place struct {
	From, Span, Edge    int
	Blocks, Stride      int
	Column, Rows, Table int
	Down                bool
}

// edge is how many of the first and of the last elements are in every dense slice.
const edge = 16

// PlaceOf draws a place. Of an all-to-all members are those of the group. With edges it has the first
// and the last elements of a dense bucket, and of a sparse one the last rows in iteration 0 and a third of
// the others, whatever the keeper's stride, and the first ones in another third; plugins of versions before 2.5 keep
// slices without.
func PlaceOf(seed uint64, batch int64, spec *tensor.BucketSpec, o record.Operation, members int, edges bool) Place {
	drawn := splitmix.New(seed, uint64(batch)<<20+uint64(spec.Index)) // #nosec G115 -- not negative
	if spec.Sparse {
		p := Place{Blocks: 1, Table: spec.TableRows, Span: min(spec.Width, elements-1)}
		p.Column = drawn.IntN(spec.Width - p.Span + 1)
		p.Rows = elements / (p.Span + 1) // with the number of each
		if spec.Capacity > p.Rows {
			p.From = drawn.IntN(spec.TableRows)
			if end := bits.OnesCount64(uint64(batch)) % 3; edges && end == 0 { // #nosec G115 -- not negative
				p.From, p.Down = spec.TableRows-1, true
			} else if edges && end == 1 {
				p.From = 0
			}
		}
		return p
	}
	p := Place{Blocks: 1, Stride: spec.Elements}
	if o == record.AllToAll {
		p.Blocks, p.Stride = members, spec.Elements/members
	}
	p.Span = min(p.Stride, elements/p.Blocks)
	if edges && p.Span < p.Stride {
		p.Edge = min(edge, p.Span/2)
	}
	p.From = p.Edge + drawn.IntN(p.Stride-p.Span+1)
	return p
}

// Element is the place in the bucket of an element of a dense slice.
func (p *Place) Element(e int) int {
	if p.Span == 0 {
		return 0
	}
	at := e % p.Span
	switch {
	case at < p.Edge:
	case at >= p.Span-p.Edge:
		at += p.Stride - p.Span
	default:
		at += p.From - p.Edge
	}
	return e/p.Span*p.Stride + at
}

// After is how far a row of the table is from the first one of a sparse slice.
func (p *Place) After(row int32) int {
	if p.Down {
		return p.From - int(row)
	}
	if after := int(row) - p.From; after >= 0 {
		return after
	}
	return int(row) - p.From + p.Table
}

// room is how many values a slice has at most.
func (p *Place) room() int { return p.Span * max(p.Blocks, p.Rows) }

// cut copies the slice out of g to s, whose values and rows have the room. It is false where g is
// too short for it, and so no gradient of the bucket.
func (p *Place) cut(s *record.Slice, g *tensor.Gradient) bool {
	if p.Rows > 0 {
		return p.cutRows(s, g)
	}
	if len(g.Values) < p.Blocks*p.Stride {
		return false
	}
	s.Values = s.Values[:p.Span*p.Blocks]
	for i := range p.Blocks {
		part, block := s.Values[i*p.Span:][:p.Span], g.Values[i*p.Stride:][:p.Stride]
		copy(part[:p.Edge], block)
		copy(part[p.Edge:p.Span-p.Edge], block[p.From:])
		copy(part[p.Span-p.Edge:], block[p.Stride-p.Edge:])
	}
	return true
}

func (p *Place) cutRows(s *record.Slice, g *tensor.Gradient) bool {
	if g.Width < p.Column+p.Span || len(g.Values) != len(g.Rows)*g.Width {
		return false
	}
	at, _ := slices.BinarySearch(g.Rows, int32(p.From)) // #nosec G115 -- a row
	n, next := min(p.Rows, len(g.Rows)), 1
	if p.Down {
		at, next = len(g.Rows)-1, len(g.Rows)-1 // which is a step back
	}
	s.Rows, s.Values, s.Until = s.Rows[:n], s.Values[:n*p.Span], p.Table
	for i := range n {
		at %= len(g.Rows)
		s.Rows[i] = g.Rows[at]
		copy(s.Values[i*p.Span:][:p.Span], g.Values[at*g.Width+p.Column:])
		at += next
	}
	if n < len(g.Rows) {
		s.Until = p.After(g.Rows[at%len(g.Rows)])
	}
	return true
}

// Fits says that s can have been cut from here.
func (p *Place) Fits(s *record.Slice) bool {
	if p.Rows == 0 {
		return len(s.Values) == p.Span*p.Blocks && len(s.Rows) == 0
	}
	if len(s.Rows) > p.Rows || len(s.Values) != len(s.Rows)*p.Span {
		return false
	}
	last := -1
	for _, row := range s.Rows {
		if row < 0 || int(row) >= p.Table || p.After(row) <= last {
			return false
		}
		last = p.After(row)
	}
	return last < s.Until && s.Until <= p.Table
}
