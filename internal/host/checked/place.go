// Package checked keeps slices of the inputs and results of a process's links. The core recomputes
// these slices once the pass is over.
package checked

import (
	"math/bits"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/splitmix"
)

// SliceBytes is the maximum size of a slice in bytes, row numbers included.
const SliceBytes = 4 << 10

// elements is the maximum number of elements of a slice.
const elements = SliceBytes / 4

// Place says where the slice of a bucket lies in an iteration. The place is drawn from seed, batch
// and bucket, so it is the same on all ranks.
//
//	dense       Span elements from From on; if Edge is not 0: the first Edge elements,
//	            Span-2*Edge elements from From on, and the last Edge elements
//	all-to-all  the same in each of Blocks blocks of Stride elements
//	sparse      Span columns from Column on, of the first Rows rows of the gradient, counted
//	            from table row From on and continued at row 0 after the last of the Table rows;
//	            if Down is set, counted from row From down to row 0
type Place struct {
	From, Span, Edge    int
	Blocks, Stride      int
	Column, Rows, Table int
	Down                bool
}

// edge is the number of elements at each end of a bucket that every dense slice includes.
const edge = 16

// PlaceOf draws a place. For an all-to-all, members is the size of the group.
//
// With edges, a dense slice includes the first and last elements of the bucket. A sparse slice
// takes the last rows in iteration 0 and in a third of the other iterations. In another third, the
// slice takes the first rows. The keeper's stride does not change how often a slice takes the first
// or last rows. Plugins of versions before 2.5 keep slices without edges.
func PlaceOf(seed uint64, batch int64, spec *tensor.BucketSpec, o record.Operation, members int, edges bool) Place {
	drawn := splitmix.New(seed, uint64(batch)<<20+uint64(spec.Index)) // #nosec G115 -- not negative
	if spec.Sparse {
		p := Place{Blocks: 1, Table: spec.TableRows, Span: min(spec.Width, elements-1)}
		p.Column = drawn.IntN(spec.Width - p.Span + 1)
		p.Rows = elements / (p.Span + 1) // each row also needs its number
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

// Element returns the index in the bucket of element e of a dense slice.
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

// After returns how many rows the given row lies after the first row of a sparse slice.
func (p *Place) After(row int32) int {
	if p.Down {
		return p.From - int(row)
	}
	if after := int(row) - p.From; after >= 0 {
		return after
	}
	return int(row) - p.From + p.Table
}

// room returns the maximum number of values in a slice.
func (p *Place) room() int { return p.Span * max(p.Blocks, p.Rows) }

// cut copies the slice out of g to s, which must have room. cut returns false if g is too short to
// be a gradient of the bucket.
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
		at, next = len(g.Rows)-1, len(g.Rows)-1 // step backwards
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

// Fits reports whether s could have been cut at this place.
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
