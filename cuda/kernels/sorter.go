//go:build nvidia

package kernels

import "math/bits"

// Sorter makes Runs in ordinary memory, of which the caller copies them to the device. It allocates only
// for more occurrences than ever before.
type Sorter struct {
	Runs

	keys [2][]uint64
}

const digitBits = 11

// Sort sorts the occurrences of rows [occurrences], which must be from 0 to below 2^31. Order has their
// numbers, or if labels [occurrences] is not nil their labels, as the bag of each. It is a radix sort, whose
// passes are as many as the largest row has digits of 11 bits.
func (s *Sorter) Sort(rows []int64, labels []int32) {
	s.Rows, s.Starts, s.Order = s.Rows[:0], s.Starts[:0], s.Order[:0]
	for at, key := range s.sorted(rows) {
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

// sorted are keys in ascending order: a key has the row in its upper half and the number of the occurrence
// in its lower one.
func (s *Sorter) sorted(rows []int64) []uint64 {
	from, to := s.keys[0][:0], s.keys[1][:0]
	largest := uint64(0)
	for i, row := range rows {
		key := uint64(row)<<32 | uint64(i) // #nosec G115 -- not negative
		largest = max(largest, key)
		from = append(from, key)
	}
	to = append(to, from...)
	s.keys = [2][]uint64{from, to}
	for shift := 32; shift < bits.Len64(largest); shift += digitBits {
		var starts [1 << digitBits]int32
		for _, key := range from {
			starts[key>>shift&(1<<digitBits-1)]++
		}
		at := int32(0)
		for digit, n := range starts {
			starts[digit], at = at, at+n
		}
		for _, key := range from {
			digit := key >> shift & (1<<digitBits - 1)
			to[starts[digit]] = key
			starts[digit]++
		}
		from, to = to, from
	}
	return from
}
