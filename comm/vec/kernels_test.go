package vec

import (
	"math"
	"testing"

	"github.com/psbench/psbench/internal/simd"
)

// kernel is what all tests know of a kernel.
type kernel struct {
	name   string
	slices int // operands, of equal length
	run    func(s [][]float32)
	// step does to one element of every operand what run must do; nil if an element
	// depends on others.
	step     func(x []float64)
	exact    bool   // the same bits at every level
	positive []bool // by operand; nil if none need be above 0
}

// The decay is negative because a benchmark would end in denormals otherwise.
var adamStep = AdamStep{
	LR: 0.01, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: -0.1,
	Correction1: 1 - 0.9*0.9, Correction2: 1 - 0.999*0.999,
}

var (
	someRows   = []int64{3, 0, 3, 1}
	someRows32 = []int32{3, 0, 3, 1}
)

var kernels = []kernel{
	{
		name: "add", slices: 2, exact: true,
		run:  func(s [][]float32) { Add(s[0], s[1]) },
		step: func(x []float64) { x[0] += x[1] },
	}, {
		name: "addboth", slices: 2, exact: true,
		run: func(s [][]float32) { AddBoth(0.51, s[0], s[1]) },
		step: func(x []float64) {
			x[0] = float64(float32(x[0]+x[1])) * float64(float32(0.51)) // the sum is rounded as well
			x[1] = x[0]
		},
	}, {
		name: "scale", slices: 1, exact: true, // by more than 1, or a benchmark would end in denormals
		run:  func(s [][]float32) { Scale(1.01, s[0]) },
		step: func(x []float64) { x[0] *= float64(float32(1.01)) },
	}, {
		name: "copy", slices: 2, exact: true,
		run:  func(s [][]float32) { Copy(s[0], s[1]) },
		step: func(x []float64) { x[0] = x[1] },
	}, {
		name: "axpy", slices: 2,
		run:  func(s [][]float32) { Axpy(-0.3, s[0], s[1]) },
		step: func(x []float64) { x[1] -= 0.3 * x[0] },
	}, {
		name: "dot", slices: 3,
		run: func(s [][]float32) { copy(s[2], []float32{dot(s[0], s[1])}) },
	}, {
		name: "sumsquares", slices: 2,
		run: func(s [][]float32) { copy(s[1], []float32{SumSquares(s[0])}) },
	}, {
		name: "sgd", slices: 2,
		run:  func(s [][]float32) { SGD(s[0], s[1], 0.1, 0.01) },
		step: func(x []float64) { x[0] -= 0.1 * (x[1] + 0.01*x[0]) },
	}, {
		name: "momentum", slices: 3,
		run: func(s [][]float32) { Momentum(s[0], s[1], s[2], 0.1, 0.9, 0.01, false) },
		step: func(x []float64) {
			x[2] = 0.9*x[2] + x[1] + 0.01*x[0]
			x[0] -= 0.1 * x[2]
		},
	}, {
		name: "nesterov", slices: 3,
		run: func(s [][]float32) { Momentum(s[0], s[1], s[2], 0.1, 0.9, 0.01, true) },
		step: func(x []float64) {
			d := x[1] + 0.01*x[0]
			x[2] = 0.9*x[2] + d
			x[0] -= 0.1 * (d + 0.9*x[2])
		},
	}, {
		name: "adam", slices: 4, positive: []bool{3: true},
		run: func(s [][]float32) { Adam(s[0], s[1], s[2], s[3], adamStep) },
		step: func(x []float64) {
			c := adamStep
			d := x[1] + c.WeightDecay*x[0]
			x[2] = c.Beta1*x[2] + (1-c.Beta1)*d
			x[3] = c.Beta2*x[3] + (1-c.Beta2)*d*d
			x[0] -= c.LR / c.Correction1 * x[2] / (math.Sqrt(x[3])/math.Sqrt(c.Correction2) + c.Epsilon)
		},
	}, {
		name: "adagrad", slices: 3, positive: []bool{2: true},
		run: func(s [][]float32) { Adagrad(s[0], s[1], s[2], 0.1, 1e-10) },
		step: func(x []float64) {
			x[2] += x[1] * x[1]
			x[0] -= 0.1 * x[1] / (math.Sqrt(x[2]) + 1e-10)
		},
	}, {
		name: "relu", slices: 1, exact: true,
		run:  func(s [][]float32) { ReLU(s[0]) },
		step: func(x []float64) { x[0] = max(x[0], 0) },
	}, {
		name: "relugradient", slices: 2, exact: true,
		run: func(s [][]float32) { ReLUGradient(s[0], s[1]) },
		step: func(x []float64) {
			if x[1] == 0 {
				x[0] = 0
			}
		},
	}, {
		name: "softmax", slices: 1,
		run: func(s [][]float32) { Softmax(s[0]) },
	}, {
		name: "softmaxgradient", slices: 3,
		run: func(s [][]float32) { SoftmaxGradient(s[0], s[1], s[2]) },
	}, {
		name: "gathersum", slices: 2,
		run: func(s [][]float32) {
			if width := len(s[1]) / 4; width > 0 {
				GatherSum(s[0][:width], s[1], width, someRows)
			}
		},
	}, {
		name: "gatherrows", slices: 2,
		run: func(s [][]float32) {
			if width := len(s[1]) / 4; width > 0 {
				GatherRows(s[0], s[1], width, someRows)
			}
		},
	}, {
		name: "scatteraxpy", slices: 2,
		run: func(s [][]float32) {
			if width := len(s[1]) / 4; width > 0 {
				ScatterAxpy(0.5, s[0], s[1], width, someRows32)
			}
		},
	},
}

// eachLevel runs a test at every level of this machine.
func eachLevel(t *testing.T, test func(t *testing.T)) {
	for _, l := range simd.Available() {
		t.Run(l.String(), func(t *testing.T) {
			useLevel(t, l)
			test(t)
		})
	}
}

func useLevel(t testing.TB, l simd.Level) {
	before := level
	level = l
	t.Cleanup(func() { level = before })
}

func eachKernel(t *testing.T, test func(t *testing.T, k kernel)) {
	for _, k := range kernels {
		t.Run(k.name, func(t *testing.T) { test(t, k) })
	}
}

// sameBits holds for two NaN whatever they carry.
func sameBits(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}
