//go:build nvidia

package kernels

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/plugins/models/nn"
	"github.com/psbench/psbench/sdk"
)

// drawTable draws the number of rows and the width of a table.
func drawTable(t *rapid.T) (rows, width int) {
	width = rapid.OneOf(rapid.IntRange(1, 20), rapid.SampledFrom([]int{16, 64, 300, 1100})).Draw(t, "width")
	return rapid.IntRange(1, 12).Draw(t, "rows"), width
}

// drawBags draws a batch of bags of rows. Some bags are empty.
func drawBags(t *rapid.T, r numbers, rows int) *sdk.Batch {
	bags := rapid.IntRange(1, 8).Draw(t, "bags")
	b := &sdk.Batch{Targets: make([]int64, bags), Offsets: []int64{0}}
	for range bags {
		b.Indices = append(b.Indices, r.indices(r.IntN(6), rows)...)
		b.Offsets = append(b.Offsets, int64(len(b.Indices)))
	}
	return b
}

// placeRuns sorts on the host and copies the runs to the device.
func placeRuns(b *bench, rows []int64, labels []int32) Runs {
	var s Sorter
	s.Sort(rows, labels)
	return Runs{Rows: place(b, s.Rows, 0), Starts: place(b, s.Starts, 0), Order: place(b, s.Order, 0)}
}

func TestBags(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := begin(t)
		defer b.end()
		r := drawNumbers(t)
		rows, width := drawTable(t)
		batch := drawBags(t, r, rows)
		e := nn.EmbeddingBag{Rows: rows, Width: width, Sum: rapid.Bool().Draw(t, "sum"), Table: r.floats(rows * width)}
		at := offsets(t, 3)

		want := make([]float32, batch.Size()*width)
		b.must(e.Forward(want, batch))
		y, table := place(b, r.floats(len(want)), at[0]), place(b, e.Table, at[1])
		ends := place(b, batch.Offsets, 0)
		b.GatherBags(y, table, width, place(b, batch.Indices, 0), ends, !e.Sum)
		same(t, "y", fetched(b, y), want)

		dy := r.floats(len(want))
		dense := make([]float32, rows*width)
		e.DenseGradient(dense, dy, batch)
		sparse := &tensor.Gradient{Width: width, Rows: make([]int32, rows), Values: make([]float32, rows*width)}
		b.must(e.SparseGradient(sparse, dy, batch))
		var labels []int32
		for i := range batch.Size() {
			for range batch.Bag(i) {
				labels = append(labels, int32(i))
			}
		}
		runs := placeRuns(b, batch.Indices, labels)
		gradient, from := place(b, r.floats(rows*width), at[2]), place(b, dy, at[0])
		b.Clear(gradient)
		b.ScatterBags(gradient, from, width, runs, ends, !e.Sum, true)
		same(t, "the dense gradient", fetched(b, gradient), dense)
		part := gradient[:len(runs.Rows)*width]
		b.ScatterBags(part, from, width, runs, ends, !e.Sum, false)
		same(t, "the sparse gradient", fetched(b, part), sparse.Values)
	})
}

func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := begin(t)
		defer b.end()
		r := drawNumbers(t)
		rows, width := drawTable(t)
		named := r.indices(rapid.IntRange(1, 30).Draw(t, "occurrences"), rows)
		at := offsets(t, 2)
		src, table := r.floats(len(named)*width), r.floats(rows*width)
		from, to := place(b, src, at[0]), place(b, table, at[1])
		runs := placeRuns(b, named, nil)

		named32 := make([]int32, len(named))
		for i, row := range named {
			named32[i] = int32(row)
		}
		b.ScatterRuns(-0.5, from, to, width, runs)
		vec.ScatterAxpy(-0.5, src, table, width, named32)
		same(t, "the table", fetched(b, to), table)

		batch := &sdk.Batch{Targets: make([]int64, len(named)), Indices: named, Offsets: make([]int64, len(named)+1)}
		for i := range batch.Offsets {
			batch.Offsets[i] = int64(i)
		}
		tables := nn.NewTables([]int{rows}, width)
		tables.Stack = table
		b.must(tables.Forward(make([]float32, len(src)), batch))
		sparse := &tensor.Gradient{Width: width, Rows: make([]int32, len(named)), Values: make([]float32, len(src))}
		b.must(tables.SparseGradient(sparse, src))
		part := place(b, r.floats(len(sparse.Values)), at[1])
		b.CoalesceRows(part, from, width, runs, false)
		same(t, "coalesced rows", fetched(b, part), sparse.Values)
		want := append([]float32(nil), table...)
		for i, row := range sparse.Rows {
			copy(want[int(row)*width:], sparse.Values[i*width:(i+1)*width])
		}
		b.CoalesceRows(to, from, width, runs, true)
		same(t, "coalesced rows of the table", fetched(b, to), want)
	})
}

func TestRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := begin(t)
		defer b.end()
		r := drawNumbers(t)
		rows, width := drawTable(t)
		at := offsets(t, 2)
		table := r.floats(rows * width)
		to := place(b, table, at[0])

		named := r.indices(rapid.IntRange(0, 10).Draw(t, "named"), rows)
		want := make([]float32, len(named)*width)
		vec.GatherRows(want, table, width, named)
		dst := place(b, r.floats(len(want)), at[1])
		b.GatherRows(dst, to, width, place(b, named, 0))
		same(t, "rows", fetched(b, dst), want)

		each := make([]int32, 0, rows)
		for _, row := range r.Perm(rows)[:r.IntN(rows+1)] {
			each = append(each, int32(row))
		}
		src := r.floats(len(each) * width)
		b.ScatterRows(0.7, place(b, src, at[1]), to, width, place(b, each, 0))
		vec.ScatterAxpy(0.7, src, table, width, each)
		same(t, "the table", fetched(b, to), table)
	})
}

func TestCopyColumns(t *testing.T) {
	b := begin(t)
	defer b.end()
	src := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}
	dst := place(b, make([]float32, 11), 1)
	b.CopyColumns(dst[1:], 4, place(b, src, 0)[1:], 3, 3, 2)
	same(t, "dst", fetched(b, dst), []float32{0, 2, 3, 0, 0, 5, 6, 0, 0, 8, 9})
}

// The CPU uses a BLAS whose order of addition is unknown.
func TestInteraction(t *testing.T) {
	engine, err := blas.Open(blas.Native, 1)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		b := begin(t)
		defer b.end()
		r := drawNumbers(t)
		r.special = false
		samples := rapid.IntRange(1, 3).Draw(t, "samples")
		x := nn.Interaction{BLAS: engine, Tables: rapid.IntRange(0, 27).Draw(t, "tables"),
			Dim: rapid.IntRange(1, 20).Draw(t, "dim")}
		stride := x.Tables*x.Dim + rapid.IntRange(0, 3).Draw(t, "more")
		dense, rows := r.floats(samples*x.Dim), r.floats(max(1, samples*stride))
		want := make([]float32, samples*x.Width())
		x.Forward(want, dense, rows, stride)
		y, of, on := place(b, make([]float32, len(want)), 1), place(b, dense, 0), place(b, rows, 2)
		b.Interaction(y, of, on, x.Tables, x.Dim, stride)
		near(t, "y", fetched(b, y), want, 1e-6, 1e-5)

		dy := r.floats(len(want))
		denseWant, rowsWant := make([]float32, len(dense)), make([]float32, len(rows))
		x.Gradient(denseWant, rowsWant, dy, dense, rows, stride)
		denseGradient, rowsGradient := place(b, make([]float32, len(dense)), 1), place(b, make([]float32, len(rows)), 0)
		b.InteractionGradient(denseGradient, rowsGradient, place(b, dy, 0), of, on, x.Tables, x.Dim, stride)
		near(t, "the gradient of dense", fetched(b, denseGradient), denseWant, 1e-6, 1e-5)
		near(t, "the gradient of rows", fetched(b, rowsGradient), rowsWant, 1e-6, 1e-5)
	})
}
