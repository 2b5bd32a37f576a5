package nn

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk"
)

// EmbeddingBag looks up bags of rows in a table and returns the mean or the sum of each bag. An empty bag gives
// zeros.
type EmbeddingBag struct {
	Rows, Width int
	Sum         bool      // return the sum of a bag's rows instead of the mean
	Table       []float32 // [Rows, Width]

	slots    []int32 // for SparseGradient: each table row's place in the gradient, -1 if it has none
	distinct []int32 // for SparseGradient: the rows that have a slot
}

// Forward writes y [samples, Width]. Forward returns an error if the batch's offsets do not match its indices, or
// if an index is outside the table.
func (e *EmbeddingBag) Forward(y []float32, b *sdk.Batch) error {
	if err := CheckBags(b, e.Rows); err != nil {
		return err
	}
	for i := range b.Size() {
		out := y[i*e.Width : (i+1)*e.Width]
		bag := b.Bag(i)
		vec.GatherSum(out, e.Table, e.Width, bag)
		if !e.Sum && len(bag) > 0 {
			vec.Scale(1/float32(len(bag)), out)
		}
	}
	return nil
}

// DenseGradient overwrites gradient [Rows, Width]. The inputs are dy [samples, Width] and the batch of the last
// Forward.
func (e *EmbeddingBag) DenseGradient(gradient, dy []float32, b *sdk.Batch) {
	clear(gradient)
	for i := range b.Size() {
		share, out := e.share(b, i), dy[i*e.Width:(i+1)*e.Width]
		for _, row := range b.Bag(i) {
			vec.Axpy(share, out, e.row(gradient, row))
		}
	}
}

// SparseGradient overwrites g with the rows that the batch looked up, strictly ascending. The inputs are dy
// [samples, Width] and the batch of the last Forward. SparseGradient returns an error if g is too small for the
// distinct rows.
func (e *EmbeddingBag) SparseGradient(g *tensor.Gradient, dy []float32, b *sdk.Batch) error {
	rows := e.assignSlots(b.Indices)
	defer e.releaseSlots()
	if err := g.SetRows(len(rows)); err != nil {
		return err
	}
	copy(g.Rows, rows)
	clear(g.Values)
	for i := range b.Size() {
		share, out := e.share(b, i), dy[i*e.Width:(i+1)*e.Width]
		for _, row := range b.Bag(i) {
			vec.Axpy(share, out, e.row(g.Values, int64(e.slots[row])))
		}
	}
	return nil
}

// assignSlots numbers the distinct rows among indices in ascending order.
func (e *EmbeddingBag) assignSlots(indices []int64) []int32 {
	if e.slots == nil {
		e.slots = slices.Repeat([]int32{-1}, e.Rows)
	}
	e.distinct = e.distinct[:0]
	for _, row := range indices {
		if e.slots[row] < 0 {
			e.slots[row] = 0
			e.distinct = append(e.distinct, int32(row)) // #nosec G115 -- below Rows
		}
	}
	slices.Sort(e.distinct)
	for slot, row := range e.distinct {
		e.slots[row] = int32(slot)
	}
	return e.distinct
}

func (e *EmbeddingBag) releaseSlots() {
	for _, row := range e.distinct {
		e.slots[row] = -1
	}
}

// share returns the weight of each row of bag i in the bag's output.
func (e *EmbeddingBag) share(b *sdk.Batch, i int) float32 {
	if e.Sum {
		return 1
	}
	return 1 / float32(len(b.Bag(i)))
}

func (e *EmbeddingBag) row(table []float32, row int64) []float32 {
	start := int(row) * e.Width
	return table[start : start+e.Width]
}

// CheckBags returns an error if offsets do not divide the indices of b into its bags, or if an index is outside a
// table of this many rows.
func CheckBags(b *sdk.Batch, rows int) error {
	if len(b.Offsets) != b.Size()+1 || b.Offsets[0] != 0 || b.Offsets[b.Size()] != int64(len(b.Indices)) {
		return fmt.Errorf("the offsets of a batch of %d samples do not describe its %d indices", b.Size(),
			len(b.Indices))
	}
	for i := range b.Size() {
		if b.Offsets[i] > b.Offsets[i+1] {
			return fmt.Errorf("sample %d of the batch ends before it starts: offsets must not descend", i)
		}
	}
	for _, row := range b.Indices {
		if row < 0 || row >= int64(rows) {
			return fmt.Errorf("index %d lies outside the embedding table: it must be at least 0 and below %d", row,
				rows)
		}
	}
	return nil
}
