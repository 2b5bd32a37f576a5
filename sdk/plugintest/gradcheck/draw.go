package gradcheck

import "pgregory.net/rapid"

// Grid draws n inputs from -2 to 2 that are multiples of Step.
func Grid(t *rapid.T, label string, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rapid.IntRange(-32, 32).Draw(t, label)) * Step
	}
	return x
}

// OffZero draws n inputs like Grid, but none within three steps of 0, where the function may have a
// kink.
func OffZero(t *rapid.T, label string, n int) []float32 {
	x := Grid(t, label, n)
	for i, v := range x {
		if v > -3*Step && v < 3*Step {
			x[i] = 3 * Step
		}
	}
	return x
}
