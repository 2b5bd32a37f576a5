package model

import (
	"slices"
	"strings"
)

// IsComm reports whether the runs are rows of psbench comm.
func (s *Study) IsComm() bool {
	return slices.ContainsFunc(s.AllRuns(), func(r *Run) bool { _, ok := r.Values[CommTime]; return ok })
}

// compareWithinSizes compares rows of psbench comm only with rows of the same size, because another size means other
// work. The baseline becomes the first cell that has counterparts at the largest number of sizes.
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

// WithinAt returns the index of the axis Within, or -1 if there is none.
func (s *Study) WithinAt() int {
	if s.Within == "" {
		return -1
	}
	return slices.IndexFunc(s.Axes, func(a Axis) bool { return a.Name == s.Within })
}

// Counterpart returns the cell to compare cell with if c is the baseline. This is c itself or, if sizes differ, the
// counterpart of c at the size of cell. It returns nil if that counterpart was not measured.
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

// Counterparts returns c and the cells that differ from c only in their size.
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
