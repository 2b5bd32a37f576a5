package vec

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// pair draws two slices of equal, often odd, length that start anywhere in
// their storage, so that unaligned heads and short tails are covered.
func pair(t *rapid.T) (x, y []float32) {
	n := rapid.IntRange(0, 131).Draw(t, "n")
	skip := rapid.IntRange(0, 9).Draw(t, "skip")
	values := rapid.SliceOfN(rapid.Float32Range(-1e6, 1e6), 2*(n+skip), 2*(n+skip)).Draw(t, "values")
	return values[skip : skip+n : skip+n], values[n+2*skip:]
}

func naive(x, y []float32, f func(x, y float32) float32) []float32 {
	out := make([]float32, len(x))
	for i := range x {
		out[i] = f(x[i], y[i])
	}
	return out
}

func requireNear(t *rapid.T, got, want []float32, tolerance float64) {
	for i := range want {
		scale := math.Max(1, math.Abs(float64(want[i])))
		if math.Abs(float64(got[i])-float64(want[i])) > tolerance*scale {
			t.Fatalf("element %d of %d is %g, want %g", i, len(want), got[i], want[i])
		}
	}
}

func TestAdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := pair(t)
		want := naive(x, y, func(x, y float32) float32 { return x + y })
		Add(x, y)
		requireNear(t, x, want, 0)
	})
}

func TestScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, _ := pair(t)
		a := rapid.Float32Range(-8, 8).Draw(t, "a")
		want := naive(x, x, func(x, _ float32) float32 { return a * x })
		Scale(a, x)
		requireNear(t, x, want, 0)
	})
}

func TestAxpy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := pair(t)
		a := rapid.Float32Range(-8, 8).Draw(t, "a")
		want := naive(x, y, func(x, y float32) float32 { return float32(float64(y) + float64(a)*float64(x)) })
		before := append([]float32(nil), y...)
		Axpy(a, x, y)
		for i := range want {
			// One rounding of the product and one of the sum.
			slack := 1.2e-7 * (math.Abs(float64(before[i])) + 2*math.Abs(float64(a)*float64(x[i])) + 1e-30)
			if math.Abs(float64(y[i])-float64(want[i])) > slack {
				t.Fatalf("element %d of %d is %g, want %g", i, len(want), y[i], want[i])
			}
		}
	})
}

func TestKernelsDoNotAllocate(t *testing.T) {
	x, y := make([]float32, 1001), make([]float32, 1001)
	allocs := testing.AllocsPerRun(100, func() {
		Add(x, y)
		Scale(0.5, x)
		Axpy(2, x, y)
	})
	if allocs != 0 {
		t.Fatalf("the kernels allocate %g times, want 0", allocs)
	}
}

func BenchmarkKernels(b *testing.B) {
	for _, n := range []int{1 << 10, 1 << 18} {
		x, y := make([]float32, n), make([]float32, n)
		for name, kernel := range map[string]func(){
			"add":   func() { Add(x, y) },
			"scale": func() { Scale(1, x) },
			"axpy":  func() { Axpy(0.5, x, y) },
		} {
			b.Run(fmt.Sprintf("%s/%dKiB", name, 4*n>>10), func(b *testing.B) {
				b.SetBytes(int64(4 * n))
				b.ReportAllocs()
				for b.Loop() {
					kernel()
				}
			})
		}
	}
}
