package tensor

import (
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/comm/vec"
)

// RowMerger sums sparse gradients over the union of their rows. It keeps its
// storage between sums and may be used by one goroutine at a time.
type RowMerger struct {
	lists []*Gradient
	next  []int       // per list, the first row not yet merged
	parts [][]float32 // of a row, but for the first list that holds it
}

// NewRowMerger makes a merger for sums of up to lists gradients; it grows if
// more are added.
func NewRowMerger(lists int) *RowMerger {
	return &RowMerger{lists: make([]*Gradient, 0, lists), next: make([]int, 0, lists),
		parts: make([][]float32, 0, lists)}
}

// Reset forgets all added gradients.
func (m *RowMerger) Reset() {
	clear(m.lists)
	m.lists, m.next = m.lists[:0], m.next[:0]
}

// Add adds g to the sum. The merger reads g in Sum, so g must stay as it is
// until then. Its rows must be strictly ascending.
func (m *RowMerger) Add(g *Gradient) {
	m.lists, m.next = append(m.lists, g), append(m.next, 0)
}

// Sum makes dst the sum of all added gradients: rows strictly ascending, the
// values of a row added from left to right in the order of Add, so that equal
// inputs give equal bits. dst must be none of the added gradients. It is an
// error if a width differs from that of dst or the union of rows exceeds the
// capacity of dst.
//
// It merges k sorted lists: k comparisons per row of the union and one pass
// over the values.
func (m *RowMerger) Sum(dst *Gradient) error { return m.merge(dst, m.sumRow) }

// Combine is Sum with another operation than addition. For each row, combine gets the row of
// the first gradient that holds it, which it overwrites, and the others' rows in the order of
// Add. A row of one gradient alone is copied.
func (m *RowMerger) Combine(dst *Gradient, combine func(row []float32, others [][]float32)) error {
	return m.merge(dst, func(row int32, out []float32) { m.combineRow(row, out, combine) })
}

// merge makes dst the union of the rows of all added gradients, whose values fill writes.
func (m *RowMerger) merge(dst *Gradient, fill func(row int32, out []float32)) error {
	for _, g := range m.lists {
		if g.Width != dst.Width {
			return fmt.Errorf("a sum of rows of width %d cannot take rows of width %d", dst.Width, g.Width)
		}
	}
	clear(m.next)
	width := dst.Width
	rows, values := dst.Rows[:0], dst.Values[:0]
	for {
		row, left := m.lowest()
		if !left {
			break
		}
		if len(rows) == cap(rows) || len(values)+width > cap(values) {
			return fmt.Errorf("the sum of %d sparse gradients has more rows than its capacity of %d", len(m.lists),
				cap(rows))
		}
		rows = append(rows, row)
		values = values[:len(values)+width]
		fill(row, values[len(values)-width:])
	}
	dst.Rows, dst.Values = rows, values
	return nil
}

// Union appends the rows that any added gradient holds to rows, ascending, within
// its capacity. SumRows may follow.
func (m *RowMerger) Union(rows []int32) ([]int32, error) {
	clear(m.next)
	for {
		row, left := m.lowest()
		if !left {
			return rows, nil
		}
		if len(rows) == cap(rows) {
			return rows, fmt.Errorf("the union of %d sparse gradients has more rows than its capacity of %d",
				len(m.lists), cap(rows))
		}
		rows = append(rows, row)
		for i, g := range m.lists {
			if at := m.next[i]; at < len(g.Rows) && g.Rows[at] == row {
				m.next[i]++
			}
		}
	}
}

// SumRows sets out, len(rows) x width values, to the sums of these rows, which are
// a run of the union. Values are added as Sum adds them.
func (m *RowMerger) SumRows(rows []int32, out []float32) {
	if len(rows) == 0 {
		return
	}
	for i, g := range m.lists {
		m.next[i], _ = slices.BinarySearch(g.Rows, rows[0])
	}
	width := len(out) / len(rows)
	for i, row := range rows {
		m.sumRow(row, out[i*width:(i+1)*width])
	}
}

// lowest is the smallest row that is not yet merged.
func (m *RowMerger) lowest() (row int32, left bool) {
	row = math.MaxInt32
	for i, g := range m.lists {
		if at := m.next[i]; at < len(g.Rows) && g.Rows[at] <= row {
			row, left = g.Rows[at], true
		}
	}
	return row, left
}

// sumRow sets out to the sum of row over the lists that hold it.
func (m *RowMerger) sumRow(row int32, out []float32) {
	first := true
	for i := range m.lists {
		values := m.takeRow(i, row)
		switch {
		case values == nil:
		case first:
			copy(out, values)
			first = false
		default:
			vec.Add(out, values)
		}
	}
}

// combineRow sets out to what combine makes of row over the lists that hold it.
func (m *RowMerger) combineRow(row int32, out []float32, combine func([]float32, [][]float32)) {
	m.parts = m.parts[:0]
	first := true
	for i := range m.lists {
		values := m.takeRow(i, row)
		switch {
		case values == nil:
		case first:
			copy(out, values)
			first = false
		default:
			m.parts = append(m.parts, values)
		}
	}
	if len(m.parts) > 0 {
		combine(out, m.parts)
	}
}

// takeRow gives the values of row in list i if that is its next one, and passes over it.
func (m *RowMerger) takeRow(i int, row int32) []float32 {
	g, at := m.lists[i], m.next[i]
	if at == len(g.Rows) || g.Rows[at] != row {
		return nil
	}
	m.next[i]++
	return g.Values[at*g.Width : (at+1)*g.Width]
}
