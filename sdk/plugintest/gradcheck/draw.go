package gradcheck

import "pgregory.net/rapid"

// Grid draws n inputs from -2 to 2, multiples of Step.
func Grid(t *rapid.T, label string, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rapid.IntRange(-32, 32).Draw(t, label)) * Step
	}
	return x
}

// OffZero draws n inputs as Grid does, none of them within three steps of 0, where a
// kink may be.
func OffZero(t *rapid.T, label string, n int) []float32 {
	x := Grid(t, label, n)
	for i, v := range x {
		if v > -3*Step && v < 3*Step {
			x[i] = 3 * Step
		}
	}
	return x
}
