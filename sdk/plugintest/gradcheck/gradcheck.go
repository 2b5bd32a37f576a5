// Package gradcheck compares gradients with finite differences, for tests of layers and criteria.
package gradcheck

import "math"

// Step is the distance by which Check moves an input. Step is a power of two, so that sums with
// inputs from Grid are exact in float32.
const Step = 1.0 / 16

// TB holds the methods of a test that Check needs.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Check fails the test unless gradient[i] is the derivative of f by x[i] for all i, within
// tolerance. The tolerance is relative if the derivative is above 1. f must compute from x each
// time. f must be smooth, and x at least two steps away from any point where f is not.
//
// The derivative is (8 (f(h)-f(-h)) - (f(2h)-f(-2h))) / 12h: the central difference without its
// error of order h². The remaining error is h⁴/30, about 5e-7, times the fifth derivative. Rounding
// adds the rounding error of f divided by h, so f should sum in float64. Check evaluates f four
// times per element.
func Check(t TB, what string, f func() float64, x, gradient []float32, tolerance float64) {
	t.Helper()
	if len(x) != len(gradient) {
		t.Fatalf("%s: there are %d gradients for %d inputs", what, len(gradient), len(x))
		return
	}
	for i, at := range x {
		moved := func(by float32) float64 {
			x[i] = at + by
			defer func() { x[i] = at }()
			return f()
		}
		want := (8*(moved(Step)-moved(-Step)) - (moved(2*Step) - moved(-2*Step))) / (12 * Step)
		if got := float64(gradient[i]); !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
			t.Fatalf("%s: the gradient of element %d of %d is %g, finite differences give %g", what, i, len(x), got,
				want)
			return
		}
	}
}

// Weighted returns Σ w[i]*y[i]. Weighted is a loss of the outputs y with the gradient w.
func Weighted(w, y []float32) float64 {
	var sum float64
	for i, v := range y {
		sum += float64(w[i]) * float64(v)
	}
	return sum
}
