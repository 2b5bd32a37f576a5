package trainer

import (
	"cmp"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestBinsKeepTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Float32().Draw(t, "a")
		b := rapid.OneOf(rapid.Float32(),
			rapid.Map(rapid.Float32Range(-0.1, 0.1), func(d float32) float32 { return a + a*d })).Draw(t, "b")
		if math.IsInf(float64(b), 0) {
			t.Skip()
		}
		order := cmp.Compare(binOf(a), binOf(b))
		if order*cmp.Compare(a, b) < 0 {
			t.Fatalf("%v and %v are in bins %d and %d", a, b, binOf(a), binOf(b))
		}
		small, large := math.Abs(float64(a)), math.Abs(float64(b))
		if small > large {
			small, large = large, small
		}
		if order == 0 && small >= 1e-37 && large >= 1.01*small {
			t.Fatalf("%v and %v are both in bin %d", a, b, binOf(a))
		}
	})
	if top := binOf(float32(math.Inf(1))); top >= worstBin || binOf(float32(math.Inf(-1))) != -top {
		t.Errorf("infinity is in bin %d", top)
	}
}
