package vec

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestReLU(t *testing.T) {
	nan := float32(math.NaN())
	eachLevel(t, func(t *testing.T) {
		y := []float32{-1, 0, 2, float32(math.Inf(-1)), 0.5, nan}
		ReLU(y)
		gradient := []float32{5, 6, 7, 8, -9, 3}
		ReLUGradient(gradient, y)
		for i, want := range []float32{0, 0, 2, 0, 0.5, nan} {
			if !sameBits(y[i], want) {
				t.Errorf("element %d is %g, want %g", i, y[i], want)
			}
		}
		if want := []float32{0, 0, 7, 0, -9, 3}; !slices.Equal(gradient, want) {
			t.Errorf("the gradient is %v, want %v", gradient, want)
		}
	})
}

// Every 4093rd float32 there is, NaN, infinities and denormals among them.
func TestExp(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		var worst float64
		var x, y [64]float32
		for bits := uint64(0); bits < 1<<32; {
			for i := range x {
				x[i] = math.Float32frombits(uint32(bits))
				bits += 4093
			}
			y = x
			expSum(y[:], 0)
			for i := range y {
				worst = max(worst, expError(t, x[i], y[i]))
			}
		}
		t.Logf("the largest error is %.2f units in the last place", worst)
		if worst > 1.02 {
			t.Errorf("the largest error is %.2f units in the last place, want 1.02 at most", worst)
		}
	})
}

// expError is how many units in the last place y is away from exp x.
func expError(t *testing.T, x, y float32) float64 {
	want := math.Exp(float64(x))
	switch {
	case want != want || want > math.MaxFloat32:
		if !sameBits(y, float32(want)) && y < math.MaxFloat32 {
			t.Fatalf("exp(%g) is %g, want %g", x, y, want)
		}
		return 0
	case want < math.SmallestNonzeroFloat32/4:
		if y != 0 {
			t.Fatalf("exp(%g) is %g, want 0", x, y)
		}
		return 0
	}
	_, exponent := math.Frexp(want)
	return math.Abs(float64(y)-want) / math.Ldexp(1, max(exponent-24, -149))
}

func TestSoftmax(t *testing.T) {
	element := rapid.OneOf(rapid.Float32Range(-200, 200), rapid.Just(float32(math.Inf(-1))))
	eachLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			storage, s := operands(t, kernel{slices: 1}, func(int) *rapid.Generator[float32] { return element })
			before := clone(s)[0]
			finite, top := false, math.Inf(-1)
			for _, x := range before {
				finite = finite || !math.IsInf(float64(x), 0)
				top = max(top, float64(x))
			}
			logSum := Softmax(s[0])
			requireGuards(t, storage, s)
			if !finite {
				return
			}
			var sum float64
			for _, x := range before {
				sum += math.Exp(float64(x) - top)
			}
			if want := top + math.Log(sum); math.Abs(logSum-want) > 1e-6 {
				t.Fatalf("the logarithm of the sum is %g, want %g", logSum, want)
			}
			for i, x := range before {
				// The difference is rounded, so the error grows with it.
				below := min(top-float64(x), 200)
				if want := math.Exp(float64(x)-top) / sum; math.Abs(float64(s[0][i])-want) > (1e-6+1e-7*below)*want+
					1e-44 {
					t.Fatalf("element %d of %d is %g, want %g", i, len(before), s[0][i], want)
				}
			}
		})
	})
}

func TestSoftmaxOfWhatHasNone(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	eachLevel(t, func(t *testing.T) {
		if logSum := Softmax(nil); !math.IsInf(logSum, -1) {
			t.Errorf("the logarithm of an empty sum is %g, want -Inf", logSum)
		}
		for _, row := range [][]float32{{inf, 1}, {1, nan}, {nan, inf, 3}, {-inf, -inf}} {
			in := append([]float32(nil), row...)
			logSum := Softmax(row)
			for _, y := range row {
				if y == y || logSum == logSum {
					t.Errorf("the softmax of %v is %v, its logarithm %g, want NaN", in, row, logSum)
				}
			}
		}
	})
}

func TestSoftmaxGradient(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			storage, s := operands(t, kernel{slices: 3}, kernel{}.moderate)
			dx, dy, y := s[0], s[1], s[2]
			var dot, magnitude float64
			for i := range y {
				dot += float64(y[i]) * float64(dy[i])
				magnitude += math.Abs(float64(y[i]) * float64(dy[i]))
			}
			SoftmaxGradient(dx, dy, y)
			for i := range dx {
				want := float64(y[i]) * (float64(dy[i]) - dot)
				if math.Abs(float64(dx[i])-want) > 1e-5*(1+magnitude) {
					t.Fatalf("element %d of %d is %g, want %g", i, len(dx), dx[i], want)
				}
			}
			requireGuards(t, storage, s)
		})
	})
}
