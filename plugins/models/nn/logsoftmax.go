package nn

import (
	"math"
	"slices"
)

// LogSoftmax replaces every row of x [rows, classes] by the logarithm of its softmax, x - log Σ exp x. The largest
// element is subtracted first, so that no exponential overflows. The cost is one exponential per element.
func LogSoftmax(x []float32, classes int) {
	for ; len(x) > 0; x = x[classes:] {
		row := x[:classes]
		top := slices.Max(row)
		var sum float64
		for _, v := range row {
			sum += math.Exp(float64(v - top))
		}
		logSum := float64(top) + math.Log(sum)
		for j, v := range row {
			row[j] = float32(float64(v) - logSum)
		}
	}
}

// LogSoftmaxGradient writes dx = dy - exp(y) Σ dy, row by row, where y is the result of LogSoftmax. All three are
// [rows, classes].
func LogSoftmaxGradient(dx, dy, y []float32, classes int) {
	for ; len(y) > 0; dx, dy, y = dx[classes:], dy[classes:], y[classes:] {
		var sum float64
		for _, v := range dy[:classes] {
			sum += float64(v)
		}
		for j, v := range y[:classes] {
			dx[j] = float32(float64(dy[j]) - math.Exp(float64(v))*sum)
		}
	}
}
