package vec

import "math"

// Softmax replaces row by its softmax and returns log Σ exp(row[i]) of what it was. The
// largest element is subtracted first, so that no exponential overflows. An element
// that is NaN or +Inf makes all of them NaN. An exponential is at most 1.02 units in the
// last place away from the exact one.
func Softmax(row []float32) (logSum float64) {
	top := largest(row)
	sum := expSum(row, top)
	scale(1/sum, row)
	return float64(top) + math.Log(float64(sum))
}

// SoftmaxGradient writes dx = y (dy - Σ y dy), where y is what Softmax wrote to a row.
func SoftmaxGradient(dx, dy, y []float32) {
	dy, y = dy[:len(dx)], y[:len(dx)]
	centre(dx, dy, y, dot(y, dy))
}

// ReLU replaces every negative element of x by 0, and keeps NaN.
func ReLU(x []float32) { relu(x) }

// ReLUGradient clears the elements of gradient where y, which ReLU wrote, is 0.
func ReLUGradient(gradient, y []float32) { reluGradient(gradient, y[:len(gradient)]) }
