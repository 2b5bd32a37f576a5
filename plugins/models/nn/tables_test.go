package nn

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugintest/gradcheck"
)

// drawIndices draws samples with an index for each table.
func drawIndices(t *rapid.T, rows []int) *sdk.Batch {
	b := &sdk.Batch{}
	for range rapid.IntRange(1, 9).Draw(t, "samples") {
		var bag []int64
		for _, n := range rows {
			bag = append(bag, rapid.Int64Range(0, int64(n-1)).Draw(t, "index"))
		}
		b.Append(bag, 0)
	}
	return b
}

// The sparse gradient equals the dense gradient, and both are correct. Several batches use the same tables.
func TestTablesGradients(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, width := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 4).Draw(t, "rows"), rapid.IntRange(1, 5).Draw(t, "width")
		tables := NewTables(rows, width)
		tables.Stack = gradcheck.Grid(t, "stack", tables.Rows()*width)
		for range 2 {
			b := drawIndices(t, rows)
			y, dy := garbage(len(b.Indices)*width), gradcheck.Grid(t, "dy", len(b.Indices)*width)
			loss := func() float64 {
				if err := tables.Forward(y, b); err != nil {
					t.Fatal(err)
				}
				return gradcheck.Weighted(dy, y)
			}
			loss()
			dense := garbage(tables.Rows() * width)
			tables.DenseGradient(dense, dy)
			gradcheck.Check(t, "stack", loss, tables.Stack, dense, tolerance)
			sparse := tensor.NewGradient(tensor.BucketSpec{Sparse: true, Width: width, Capacity: tables.Rows()})
			if err := tables.SparseGradient(&sparse, dy); err != nil {
				t.Fatal(err)
			}
			spread := make([]float32, len(dense))
			for i, row := range sparse.Rows {
				if i > 0 && row <= sparse.Rows[i-1] {
					t.Fatalf("the rows are %v", sparse.Rows)
				}
				copy(spread[int(row)*width:], sparse.Values[i*width:(i+1)*width])
			}
			if !slices.Equal(spread, dense) {
				t.Fatalf("as rows the gradient is %v, dense it is %v", spread, dense)
			}
		}
	})
}

// Row numbers of large tables differ in more than one digit of the sort.
func TestRowsOfLargeTablesAreSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := []int{rapid.IntRange(1, 3000).Draw(t, "rows of table 0"),
			rapid.IntRange(1, 1<<30).Draw(t, "rows of table 1"), 1}
		b := drawIndices(t, rows)
		tables := NewTables(rows, 1)
		if _, err := tables.Resolve(b); err != nil {
			t.Fatal(err)
		}
		var want []uint64
		for i, index := range b.Indices {
			row := int64([]int{0, rows[0], rows[0] + rows[1]}[i%3]) + index
			want = append(want, uint64(row)<<32|uint64(i))
		}
		slices.Sort(want)
		if got := SortRows(&tables.keys, tables.rows); !slices.Equal(got, want) {
			t.Fatalf("the keys are %x, want %x", got, want)
		}
	})
}

func TestTablesErrors(t *testing.T) {
	tables := NewTables([]int{3, 5}, 1)
	tables.Stack = make([]float32, 8)
	for want, b := range map[string]*sdk.Batch{
		"a batch of 1 samples has 3 indices but must have one for each of 2 tables": {Indices: []int64{0, 0, 0},
			Offsets: []int64{0, 3}},
		"a batch of 1 samples has 0 indices but must have one for each of 2 tables": {Targets: []int64{1}},
		"sample 1 begins at index 3 of its batch but must begin at 2": {Indices: []int64{0, 0, 0, 0},
			Offsets: []int64{0, 3, 4}},
		"index 5 of sample 0 lies outside table 1: it must be at least 0 and below 5": {Indices: []int64{2, 5},
			Offsets: []int64{0, 2}},
		"index -1 of sample 1 lies outside table 0: it must be at least 0 and below 3":        {Indices: []int64{2, 4, -1, 4}, Offsets: []int64{0, 2, 4}},
		"index 9223372036854775807 of sample 0 lies outside table 0: it must be at least 0 a": {Indices: []int64{1<<63 - 1, 5}, Offsets: []int64{0, 2}},
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			if err := tables.Forward(make([]float32, 4), b); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v gives %v, want %q", b, err, want)
			}
		})
	}
	if err := tables.Forward(make([]float32, 2),
		&sdk.Batch{Indices: []int64{0, 1}, Offsets: []int64{0, 2}}); err != nil {
		t.Fatal(err)
	}
	few := tensor.NewGradient(tensor.BucketSpec{Sparse: true, Width: 1, Capacity: 1})
	if err := tables.SparseGradient(&few, make([]float32, 2)); err == nil ||
		!strings.Contains(err.Error(), "2 rows does not fit a capacity of 1") {
		t.Errorf("too little room gives %v", err)
	}
}

// BenchmarkTables runs a batch of 128 samples of the default DLRM: 26 tables of 10,000 rows.
func BenchmarkTables(b *testing.B) {
	rows := slices.Repeat([]int{10_000}, 26)
	tables := NewTables(rows, 16)
	tables.Stack = make([]float32, tables.Rows()*16)
	batch, random := &sdk.Batch{}, splitmix.New(1, 0)
	for range 128 {
		var bag []int64
		for _, n := range rows {
			bag = append(bag, int64(random.IntN(n)))
		}
		batch.Append(bag, 0)
	}
	y := make([]float32, 128*26*16)
	gradient := tensor.NewGradient(tensor.BucketSpec{Sparse: true, Width: 16, Capacity: 128 * 26})
	b.Run("forward", func(b *testing.B) {
		for b.Loop() {
			if err := tables.Forward(y, batch); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("gradient", func(b *testing.B) {
		for b.Loop() {
			if err := tables.SparseGradient(&gradient, y); err != nil {
				b.Fatal(err)
			}
		}
	})
}
