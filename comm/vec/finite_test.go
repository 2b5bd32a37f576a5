package vec

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestAllFinite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float32(), 0, 3*finiteBlock).Draw(t, "x")
		for i := rapid.IntRange(0, 2).Draw(t, "odd values"); i > 0 && len(x) > 0; i-- {
			bits := 0x7f800000 | rapid.Uint32().Draw(t, "bits")
			x[rapid.IntRange(0, len(x)-1).Draw(t, "place")] = math.Float32frombits(bits)
		}
		want := true
		for _, v := range x {
			want = want && !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
		}
		if got := AllFinite(x); got != want {
			t.Fatalf("AllFinite is %v, want %v", got, want)
		}
	})
}

func TestAllFiniteOfEveryEdge(t *testing.T) {
	x := make([]float32, 2*finiteBlock+1)
	x[0], x[finiteBlock] = math.MaxFloat32, -math.SmallestNonzeroFloat32
	if !AllFinite(x) || !AllFinite(nil) {
		t.Error("finite values are not")
	}
	for _, i := range []int{0, finiteBlock - 1, finiteBlock, 2 * finiteBlock} {
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			kept := x[i]
			if x[i] = float32(v); AllFinite(x) {
				t.Errorf("%v at %d is finite", v, i)
			}
			x[i] = kept
		}
	}
}
