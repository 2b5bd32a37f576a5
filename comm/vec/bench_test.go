package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/psbench/psbench/internal/simd"
)

// operands are those of a benchmark.
func (k kernel) operands(n int) [][]float32 {
	var s [][]float32
	for operand := range k.slices {
		values := make([]float32, n)
		for i := range values {
			values[i] = 1e-3 * float32(1+(7*i+operand)%100)
		}
		s = append(s, values)
	}
	return s
}

// differs runs the kernel and says where its result is not that of the portable one.
func (k kernel) differs(s [][]float32) string {
	want := clone(s)
	k.run(s)
	here := level
	level = simd.Portable
	k.run(want)
	level = here
	for operand := range want {
		var magnitude float64
		for _, v := range want[operand] {
			magnitude = max(magnitude, math.Abs(float64(v)))
		}
		for i, v := range want[operand] {
			if got := s[operand][i]; math.Abs(float64(got-v)) > 1e-5*magnitude {
				return fmt.Sprintf("element %d of operand %d is %g, want %g", i, operand, got, v)
			}
		}
	}
	return ""
}

// BenchmarkKernels gives the bytes of one operand per second.
func BenchmarkKernels(b *testing.B) {
	for _, k := range kernels {
		for _, bytes := range []int{4 << 10, 1 << 20, 64 << 20} {
			for _, l := range simd.Available() {
				b.Run(fmt.Sprintf("%s/%dKiB/%s", k.name, bytes>>10, l), func(b *testing.B) {
					useLevel(b, l)
					if at := k.differs(k.operands(1001)); at != "" {
						b.Fatal(at)
					}
					s := k.operands(bytes / 4)
					b.SetBytes(int64(bytes))
					b.ReportAllocs()
					for b.Loop() {
						k.run(s)
					}
				})
			}
		}
	}
}

// BenchmarkRows gives the bytes of rows per second, for bags of ten rows that lie
// anywhere in a table that the second-level cache holds, or none does.
func BenchmarkRows(b *testing.B) {
	for _, width := range []int{16, 64, 256} {
		for _, bytes := range []int{512 << 10, 512 << 20} {
			l := newLookups(width, bytes/4/width)
			for name, run := range map[string]func(from int){
				"gathersum":   l.gatherSums,
				"gatherrows":  l.gatherRows,
				"scatteraxpy": l.scatterAxpy,
			} {
				for _, level := range simd.Available() {
					b.Run(fmt.Sprintf("%s/width=%d/%dKiB/%s", name, width, bytes>>10, level), func(b *testing.B) {
						useLevel(b, level)
						b.SetBytes(int64(4 * width * lookupRows))
						from := 0
						for b.Loop() {
							run(from)
							from = (from + lookupRows) % len(l.rows)
						}
					})
				}
			}
		}
	}
}

const (
	bagRows    = 10
	lookupRows = 100 * bagRows // of one measured call
)

// lookups are 256 MiB of rows, so that no cache holds them if the table is large.
type lookups struct {
	width         int
	table, values []float32
	rows          []int64
	rows32        []int32
}

func newLookups(width, count int) *lookups {
	random := rand.New(rand.NewPCG(1, 2))
	n := 256 << 20 / (4 * width) / lookupRows * lookupRows
	l := &lookups{
		width: width, table: make([]float32, count*width), values: make([]float32, lookupRows*width),
		rows: make([]int64, n), rows32: make([]int32, n),
	}
	for i := range l.table {
		l.table[i] = 1
	}
	for i := range l.rows {
		l.rows[i] = random.Int64N(int64(count))
		l.rows32[i] = int32(l.rows[i])
	}
	return l
}

func (l *lookups) gatherSums(from int) {
	for i := from; i < from+lookupRows; i += bagRows {
		GatherSum(l.values[:l.width], l.table, l.width, l.rows[i:i+bagRows])
	}
}

func (l *lookups) gatherRows(from int) {
	GatherRows(l.values, l.table, l.width, l.rows[from:from+lookupRows])
}

func (l *lookups) scatterAxpy(from int) {
	ScatterAxpy(1e-3, l.values, l.table, l.width, l.rows32[from:from+lookupRows])
}
