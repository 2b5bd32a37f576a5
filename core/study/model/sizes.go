package model

import (
	"slices"
	"strings"
)

// IsComm says whether runs are rows of psbench comm.
func (s *Study) IsComm() bool {
	return slices.ContainsFunc(s.AllRuns(), func(r *Run) bool { _, ok := r.Values[CommTime]; return ok })
}

// compareWithinSizes has rows of psbench comm compared with those of their own size alone: another size is
// other work. The baseline is the first cell that most sizes have one like.
func (s *Study) compareWithinSizes() {
	at := slices.IndexFunc(s.Axes, func(a Axis) bool { return slices.Contains(strings.Split(a.Name, "+"), "bytes") })
	if at < 0 {
		return
	}
	s.Within = s.Axes[at].Name
	most := 0
	for i, c := range s.Cells {
		if n := len(s.Counterparts(c)); n > most {
			most, s.Baseline = n, i
		}
	}
}

// WithinAt is the place of the axis along which nothing is compared, -1 without one.
func (s *Study) WithinAt() int {
	if s.Within == "" {
		return -1
	}
	return slices.IndexFunc(s.Axes, func(a Axis) bool { return a.Name == s.Within })
}

// Counterpart is what a cell is compared with where c is the baseline: c itself, or that which is like it at
// the size of the cell; nil where nothing was measured so.
func (s *Study) Counterpart(cell, c *Cell) *Cell {
	at := s.WithinAt()
	if at < 0 {
		return c
	}
	for _, other := range s.Counterparts(c) {
		if other.Values[at] == cell.Values[at] {
			return other
		}
	}
	return nil
}

// Counterparts are the cells that differ from c in the size alone, c among them.
func (s *Study) Counterparts(c *Cell) []*Cell {
	at := s.WithinAt()
	if at < 0 {
		return []*Cell{c}
	}
	return slices.DeleteFunc(slices.Clone(s.Cells), func(other *Cell) bool { return !s.Alike(other, c) })
}

// Alike says whether cells are the same, or differ along Within alone.
func (s *Study) Alike(a, b *Cell) bool {
	at := s.WithinAt()
	return a == b || at >= 0 && a.EqualBut(b, at)
}
