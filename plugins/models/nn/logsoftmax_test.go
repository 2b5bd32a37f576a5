package nn

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/sdk/plugintest/gradcheck"
)

func TestLogSoftmax(t *testing.T) {
	x := []float32{1000, 1000, -1000, 0, 0, 0}
	LogSoftmax(x, 3)
	half, third := float32(math.Log(0.5)), float32(math.Log(1./3))
	near(t, x, []float32{half, half, -2000 + half, third, third, third})
}

func TestLogSoftmaxGradients(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, classes := rapid.IntRange(1, 4).Draw(t, "rows"), rapid.IntRange(1, 9).Draw(t, "classes")
		x, dy := gradcheck.Grid(t, "x", rows*classes), gradcheck.Grid(t, "dy", rows*classes)
		y, dx := make([]float32, len(x)), garbage(len(x))
		loss := func() float64 {
			copy(y, x)
			LogSoftmax(y, classes)
			return gradcheck.Weighted(dy, y)
		}
		loss()
		LogSoftmaxGradient(dx, dy, y, classes)
		gradcheck.Check(t, "log-softmax", loss, x, dx, 2*tolerance)
	})
}
