package gradcheck

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// recorder records the messages of a check.
type recorder struct{ said string }

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) { r.said = fmt.Sprintf(format, args...) }

func TestCheck(t *testing.T) {
	x := []float32{0.5, -0.25}
	f := func() float64 { return math.Sin(float64(x[0])) * math.Exp(float64(x[1])) }
	right := []float32{float32(math.Cos(0.5) * math.Exp(-0.25)), float32(math.Sin(0.5) * math.Exp(-0.25))}
	for i, c := range []struct {
		gradient []float32
		want     string
	}{
		{right, ""},
		{[]float32{right[0], right[1] + 1e-5}, "wave: the gradient of element 1 of 2 is"},
		{[]float32{-right[0], right[1]}, "wave: the gradient of element 0 of 2 is"},
		{[]float32{float32(math.NaN()), right[1]}, "wave: the gradient of element 0 of 2 is NaN"},
		{right[:1], "wave: there are 1 gradients for 2 inputs"},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			r := &recorder{}
			Check(r, "wave", f, x, c.gradient, 2e-6)
			if (r.said == "") != (c.want == "") || !strings.HasPrefix(r.said, c.want) {
				t.Errorf("%v: it says %q, want %q", c.gradient, r.said, c.want)
			}
		})
	}
	if x[0] != 0.5 || x[1] != -0.25 {
		t.Errorf("the inputs are now %v", x)
	}
}

func TestDraws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, v := range OffZero(t, "x", 20) {
			if a := math.Abs(float64(v)); a <= 2*Step || a > 2 || float32(math.Round(float64(v)/Step)*Step) != v {
				t.Fatalf("%g is drawn", v)
			}
		}
	})
	if got := Weighted([]float32{1, 2}, []float32{3, -4}); got != -5 {
		t.Errorf("the weighted sum is %g", got)
	}
}
