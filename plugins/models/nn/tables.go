package nn

import (
	"fmt"
	"math/bits"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk"
)

// Tables stores several embedding tables of the same width as one stack. Table k begins at the sum of the row
// counts of the earlier tables. Each sample has one index for each table. As a single parameter, the tables need
// only one gradient, one reduction and one lookup.
type Tables struct {
	Width int
	Stack []float32 // [sum of rows, Width]

	sizes, first []int // for each table: its number of rows, and its first row
	total        int   // rows

	rows []int64 // rows of the last Forward, in the order of the batch's indices
	keys [2][]uint64
}

// NewTables creates tables with the given numbers of rows.
func NewTables(rows []int, width int) *Tables {
	t := &Tables{Width: width, sizes: rows, first: make([]int, len(rows))}
	for k, n := range rows {
		t.first[k] = t.total
		t.total += n
	}
	return t
}

// Rows returns the number of rows of all tables.
func (t *Tables) Rows() int { return t.total }

// Forward copies the rows that a batch's indices select to y [samples, tables, Width]. Forward returns an error
// if a sample does not have one index for each table, or if an index is outside its table.
func (t *Tables) Forward(y []float32, b *sdk.Batch) error {
	if _, err := t.Resolve(b); err != nil {
		return err
	}
	vec.GatherRows(y, t.Stack, t.Width, t.rows)
	return nil
}

// Resolve converts a batch's indices to rows of the stack. The result is valid until the next call. Resolve returns
// the same errors as Forward.
func (t *Tables) Resolve(b *sdk.Batch) (rows []int64, err error) {
	if len(b.Offsets) != b.Size()+1 || len(b.Indices) != b.Size()*len(t.sizes) {
		return nil, fmt.Errorf("a batch of %d samples has %d indices but must have one for each of %d tables", b.Size(),
			len(b.Indices), len(t.sizes))
	}
	t.rows = t.rows[:0]
	for i := range b.Size() {
		if b.Offsets[i] != int64(i*len(t.sizes)) {
			return nil,
				fmt.Errorf("sample %d begins at index %d of its batch but must begin at %d: every sample has one index for each of %d tables",
					i, b.Offsets[i], i*len(t.sizes), len(t.sizes))
		}
		for k, index := range b.Indices[i*len(t.sizes) : (i+1)*len(t.sizes)] {
			if index < 0 || index >= int64(t.sizes[k]) {
				return nil, fmt.Errorf(
					"index %d of sample %d lies outside table %d: it must be at least 0 and below %d", index, i, k,
					t.sizes[k])
			}
			t.rows = append(t.rows, int64(t.first[k])+index)
		}
	}
	return t.rows, nil
}

// DenseGradient overwrites gradient [Rows(), Width]. The inputs are dy [samples, tables, Width] and the batch of
// the last Forward.
func (t *Tables) DenseGradient(gradient, dy []float32) {
	clear(gradient)
	for i, row := range t.rows {
		at := int(row) * t.Width
		vec.Add(gradient[at:at+t.Width], dy[i*t.Width:(i+1)*t.Width])
	}
}

// SparseGradient overwrites g with the rows that the batch selected, strictly ascending. The inputs are dy
// [samples, tables, Width] and the batch of the last Forward. SparseGradient adds up the gradients of a row in the
// order of the batch. SparseGradient returns an error if g is too small for the distinct rows. The cost is one
// addition per element of dy and a radix sort of the indices. The sort makes one pass for every 11 bits of the
// largest row number.
func (t *Tables) SparseGradient(g *tensor.Gradient, dy []float32) error {
	keys := SortRows(&t.keys, t.rows)
	distinct, last := 0, int64(-1)
	for _, key := range keys {
		if row := int64(key >> 32); row != last { // #nosec G115 -- 32 bits
			distinct, last = distinct+1, row
		}
	}
	if err := g.SetRows(distinct); err != nil {
		return err
	}
	slot := -1
	for _, key := range keys {
		row, from := int32(key>>32), int(uint32(key))*t.Width // #nosec G115 -- a row and its position among the indices
		if slot < 0 || g.Rows[slot] != row {
			slot++
			g.Rows[slot] = row
			copy(g.Values[slot*t.Width:], dy[from:from+t.Width])
			continue
		}
		vec.Add(g.Values[slot*t.Width:(slot+1)*t.Width], dy[from:from+t.Width])
	}
	return nil
}

const digitBits = 11

// SortRows sorts rows, which must not be negative, by a stable radix sort. A key has the row in its upper half, and
// the row's position in rows in its lower half. SortRows makes one pass over the keys for every 11 bits of the
// largest row. SortRows works in the buffers keys and allocates only if they are too small.
func SortRows(keys *[2][]uint64, rows []int64) []uint64 {
	from, to := keys[0][:0], keys[1][:0]
	largest := uint64(0)
	for i, row := range rows {
		key := uint64(row)<<32 | uint64(i) // #nosec G115 -- neither is negative
		largest = max(largest, key)
		from = append(from, key)
	}
	to = append(to, from...)
	*keys = [2][]uint64{from, to}
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
