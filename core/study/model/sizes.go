package model

import (
	"slices"
	"strings"
)

// IsComm reports whether the runs are rows of psbench comm.
func (s *Study) IsComm() bool {
	return slices.ContainsFunc(s.AllRuns(), func(r *Run) bool { _, ok := r.Values[CommTime]; return ok })
}

// compareWithinSizes restricts comparisons of psbench comm rows to rows of the same size, because another size is
// other work. The baseline becomes the first of the cells that have a counterpart at the most sizes.
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

// WithinAt returns the index of the axis along which nothing is compared, or -1 if there is none.
func (s *Study) WithinAt() int {
	if s.Within == "" {
		return -1
	}
	return slices.IndexFunc(s.Axes, func(a Axis) bool { return a.Name == s.Within })
}

// Counterpart returns the cell with which cell is compared when c is the baseline: c itself, or its counterpart at the
// size of cell. It returns nil if that was not measured.
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

// Counterparts returns the cells that differ from c in the size alone, including c.
func (s *Study) Counterparts(c *Cell) []*Cell {
	at := s.WithinAt()
	if at < 0 {
		return []*Cell{c}
	}
	return slices.DeleteFunc(slices.Clone(s.Cells), func(other *Cell) bool { return !s.Alike(other, c) })
}

// Alike reports whether two cells are the same or differ only along Within.
func (s *Study) Alike(a, b *Cell) bool {
	at := s.WithinAt()
	return a == b || at >= 0 && a.EqualBut(b, at)
}
