//go:build nvidia

package kernels

import "github.com/psbench/psbench/plugins/models/nn"

// Sorter makes Runs in ordinary memory; the caller copies them to the device. Sorter allocates only if there are
// more occurrences than ever before.
type Sorter struct {
	Runs

	keys [2][]uint64
}

// Sort sorts the occurrences of rows [occurrences], which must be from 0 to below 2^31. Order contains their
// numbers. If labels [occurrences] is not nil, Order contains their labels, for example the bag of each. The cost
// is that of nn.SortRows.
func (s *Sorter) Sort(rows []int64, labels []int32) {
	s.Rows, s.Starts, s.Order = s.Rows[:0], s.Starts[:0], s.Order[:0]
	for at, key := range nn.SortRows(&s.keys, rows) {
		row, i := int32(key>>32), int32(uint32(key)) // #nosec G115 -- both below 2^31
		if n := len(s.Rows); n == 0 || s.Rows[n-1] != row {
			s.Rows = append(s.Rows, row)
			s.Starts = append(s.Starts, int32(at)) // #nosec G115 -- as above
		}
		if labels != nil {
			i = labels[i]
		}
		s.Order = append(s.Order, i)
	}
	s.Starts = append(s.Starts, int32(len(rows))) // #nosec G115 -- as above
}
