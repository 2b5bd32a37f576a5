package vec

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// lookup draws a table and rows of it, some of them more than once.
func lookup(t *rapid.T) (table []float32, width int, rows []int64) {
	width = rapid.IntRange(1, 150).Draw(t, "width")
	count := rapid.IntRange(1, 9).Draw(t, "count")
	table = make([]float32, count*width)
	offset := rapid.Float32Range(-1, 1).Draw(t, "offset")
	for i := range table {
		table[i] = offset + 1/float32(i+1)
	}
	return table, width, rapid.SliceOfN(rapid.Int64Range(0, int64(count)-1), 0, 20).Draw(t, "rows")
}

func TestGatherSum(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			table, width, rows := lookup(t)
			want := make([]float32, width)
			for _, row := range rows {
				for j := range want {
					want[j] += table[int(row)*width+j]
				}
			}
			got := slices.Repeat([]float32{guard}, width+20)
			GatherSum(got[:width], table, width, rows)
			requireRows(t, got, want)
		})
	})
}

func TestGatherRows(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			table, width, rows := lookup(t)
			var want []float32
			for _, row := range rows {
				want = append(want, table[int(row)*width:int(row+1)*width]...)
			}
			got := slices.Repeat([]float32{guard}, len(want)+20)
			GatherRows(got[:len(want)], table, width, rows)
			requireRows(t, got, want)
		})
	})
}

// requireRows compares bits, and what follows the rows with the guard.
func requireRows(t *rapid.T, got, want []float32) {
	for i, v := range got {
		if i < len(want) && !sameBits(v, want[i]) {
			t.Fatalf("element %d is %g, want %g", i, v, want[i])
		}
		if i >= len(want) && v != guard {
			t.Fatalf("element %d, behind the %d rows', became %g", i, len(want), v)
		}
	}
}

func TestScatterAxpy(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			table, width, rows64 := lookup(t)
			rows := make([]int32, len(rows64))
			src := make([]float32, len(rows)*width)
			want := slices.Clone(table)
			for i, row := range rows64 {
				rows[i] = int32(row)
				for j := range width {
					src[i*width+j] = float32(i) - 0.1*float32(j)
				}
				// One call of Axpy for each row gives the same bits.
				Axpy(-0.3, src[i*width:(i+1)*width], want[int(row)*width:int(row+1)*width])
			}
			ScatterAxpy(-0.3, src, table, width, rows)
			for i, v := range table {
				if !sameBits(v, want[i]) {
					t.Fatalf("element %d is %g, want %g", i, v, want[i])
				}
			}
		})
	})
}

func TestRowOutsideTheTable(t *testing.T) {
	table, row := make([]float32, 12), make([]float32, 4)
	for _, bad := range []int64{-1, 3, math.MaxInt64, math.MinInt64} {
		t.Run(fmt.Sprint(bad), func(t *testing.T) {
			for name, call := range map[string]func(){
				"GatherSum":  func() { GatherSum(row, table, 4, []int64{0, bad}) },
				"GatherRows": func() { GatherRows(make([]float32, 8), table, 4, []int64{0, bad}) },
				"ScatterAxpy": func() {
					ScatterAxpy(1, make([]float32, 8), table, 4, []int32{0, int32(max(min(bad, 3), -1))})
				},
			} {
				func() {
					defer func() {
						if recover() == nil {
							t.Errorf("%s takes row %d of a table of 3", name, bad)
						}
					}()
					call()
				}()
			}
		})
	}
}
