package hybrid

import (
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
)

// features connects a batch, the lookups and the model.
type features interface {
	// ask sets the indices of the next lookup.
	ask(b *sdk.Batch) error
	// join returns the model's features, once the rows of b have been looked up, and the memory for their gradient.
	// Both are valid until the next ask.
	join(b *sdk.Batch) (values, gradients []float32)
	// split copies the gradient to the lookups' memory.
	split(b *sdk.Batch)
}

// newFeatures chooses an implementation for the model's inputs.
func newFeatures(in sdk.InputSpec, store *comm.LookupStore) features {
	if in.LookedUp == 0 {
		return &bagFeatures{store}
	}
	s := &rowFeatures{store: store, tables: len(in.Tables), numbers: in.Features - in.LookedUp}
	row := int64(0)
	for _, rows := range in.Tables {
		s.first = append(s.first, row)
		row += int64(rows)
	}
	return s
}

// bagFeatures are sums of bags. The model reads the sums, and writes their gradient, in the memory of the lookups.
type bagFeatures struct{ store *comm.LookupStore }

func (f *bagFeatures) ask(b *sdk.Batch) error { return f.store.Ask(b.Offsets, b.Indices) }

func (f *bagFeatures) join(b *sdk.Batch) (values, gradients []float32) {
	n := b.Size() * f.store.Columns()
	return f.store.Values[:n], f.store.Gradients[:n]
}

func (f *bagFeatures) split(*sdk.Batch) {}

// rowFeatures are a sample's numbers, followed by one row of each of several tables. The servers hold these tables
// as one stack, in order, so a table begins at the sum of the row counts of the earlier tables. Every index is its
// own bag, and the result of a lookup is [samples, tables, columns]. Results and gradients are copied between the
// lookups and the features, because a sample's numbers lie before its rows.
type rowFeatures struct {
	store           *comm.LookupStore
	tables, numbers int
	first           []int64 // first row of each table in the stack

	offsets, rows     []int64 // bags of the batch; offsets are 0, 1, 2, ...
	values, gradients []float32
}

func (f *rowFeatures) ask(b *sdk.Batch) error {
	f.rows = f.rows[:0]
	for i, index := range b.Indices {
		f.rows = append(f.rows, f.first[i%f.tables]+index)
	}
	for len(f.offsets) <= len(f.rows) {
		f.offsets = append(f.offsets, int64(len(f.offsets)))
	}
	return f.store.Ask(f.offsets[:len(f.rows)+1], f.rows)
}

func (f *rowFeatures) join(b *sdk.Batch) (values, gradients []float32) {
	width, rows := f.widths()
	n := b.Size() * width
	f.values, f.gradients = slices.Grow(f.values[:0], n)[:n], slices.Grow(f.gradients[:0], n)[:n]
	for i := range b.Size() {
		sample := f.values[i*width : (i+1)*width]
		copy(sample, b.Features[i*f.numbers:(i+1)*f.numbers])
		copy(sample[f.numbers:], f.store.Values[i*rows:])
	}
	return f.values, f.gradients
}

func (f *rowFeatures) split(b *sdk.Batch) {
	width, rows := f.widths()
	for i := range b.Size() {
		copy(f.store.Gradients[i*rows:(i+1)*rows], f.gradients[i*width+f.numbers:])
	}
}

// widths returns how many features a sample has, and how many of these belong to rows.
func (f *rowFeatures) widths() (all, rows int) {
	rows = f.tables * f.store.Columns()
	return f.numbers + rows, rows
}
