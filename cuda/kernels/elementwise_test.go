//go:build nvidia

package kernels

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/vec"
)

var step = vec.AdamStep{
	LR: 0.01, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: 0.1,
	Correction1: 1 - 0.9*0.9, Correction2: 1 - 0.999*0.999,
}

// elementwiseKernels are the kernels whose arrays all have the same length, with their equivalents on the CPU.
var elementwiseKernels = []struct {
	name   string
	arrays int
	device func(q *Queue, x [][]float32)
	cpu    func(x [][]float32)
}{
	{"clear", 1, func(q *Queue, x [][]float32) { q.Clear(x[0]) }, func(x [][]float32) { clear(x[0]) }},
	{"copy", 2, func(q *Queue, x [][]float32) { q.Copy(x[0], x[1]) }, func(x [][]float32) { copy(x[0], x[1]) }},
	{"fill", 1, func(q *Queue, x [][]float32) { q.Fill(x[0], 2.5) }, func(x [][]float32) { fillWith(x[0], 2.5) }},
	{"scale", 1, func(q *Queue, x [][]float32) { q.Scale(1.01, x[0]) }, func(x [][]float32) { vec.Scale(1.01, x[0]) }},
	{"add", 2, func(q *Queue, x [][]float32) { q.Add(x[0], x[1]) }, func(x [][]float32) { vec.Add(x[0], x[1]) }},
	{"axpy", 2, func(q *Queue, x [][]float32) { q.Axpy(-0.3, x[1], x[0]) },
		func(x [][]float32) { vec.Axpy(-0.3, x[1], x[0]) }},
	{"axpy by 0", 2, func(q *Queue, x [][]float32) { q.Axpy(0, x[1], x[0]) },
		func(x [][]float32) { vec.Axpy(0, x[1], x[0]) }},
	{"relu", 1, func(q *Queue, x [][]float32) { q.ReLU(x[0]) }, func(x [][]float32) { vec.ReLU(x[0]) }},
	{"relu gradient", 2, func(q *Queue, x [][]float32) { q.ReLUGradient(x[0], x[1]) },
		func(x [][]float32) { vec.ReLUGradient(x[0], x[1]) }},
	{"sgd", 2, func(q *Queue, x [][]float32) { q.SGD(x[0], x[1], 0.1, 0) },
		func(x [][]float32) { vec.SGD(x[0], x[1], 0.1, 0) }},
	{"sgd, decay", 2, func(q *Queue, x [][]float32) { q.SGD(x[0], x[1], 0.1, 0.01) },
		func(x [][]float32) { vec.SGD(x[0], x[1], 0.1, 0.01) }},
	{
		"momentum", 3, func(q *Queue, x [][]float32) { q.Momentum(x[0], x[1], x[2], 0.1, 0.9, 0.01, false) },
		func(x [][]float32) { vec.Momentum(x[0], x[1], x[2], 0.1, 0.9, 0.01, false) },
	},
	{
		"nesterov", 3, func(q *Queue, x [][]float32) { q.Momentum(x[0], x[1], x[2], 0.1, 0.9, 0, true) },
		func(x [][]float32) { vec.Momentum(x[0], x[1], x[2], 0.1, 0.9, 0, true) },
	},
	{
		"adam", 4, func(q *Queue, x [][]float32) { q.Adam(x[0], x[1], x[2], x[3], step) },
		func(x [][]float32) { vec.Adam(x[0], x[1], x[2], x[3], step) },
	},
	{
		"adagrad", 3, func(q *Queue, x [][]float32) { q.Adagrad(x[0], x[1], x[2], 0.1, 1e-10, 0) },
		func(x [][]float32) { vec.Adagrad(x[0], x[1], x[2], 0.1, 1e-10) },
	},
	{
		"adagrad, decay", 3, func(q *Queue, x [][]float32) { q.Adagrad(x[0], x[1], x[2], 0.1, 1e-10, 0.01) },
		func(x [][]float32) {
			g := append([]float32(nil), x[1]...)
			vec.Axpy(0.01, x[0], g)
			vec.Adagrad(x[0], g, x[2], 0.1, 1e-10)
		},
	},
}

func fillWith(x []float32, a float32) {
	for i := range x {
		x[i] = a
	}
}

func TestElementByElement(t *testing.T) {
	for _, k := range elementwiseKernels {
		t.Run(k.name, rapid.MakeCheck(func(t *rapid.T) {
			b := begin(t)
			defer b.end()
			r, n, at := drawNumbers(t), rapid.IntRange(0, 700).Draw(t, "n"), offsets(t, k.arrays)
			host, device := make([][]float32, k.arrays), make([][]float32, k.arrays)
			for i := range host {
				if host[i] = r.floats(n); i >= 2 {
					host[i] = r.state(n)
				}
				device[i] = place(b, host[i], at[i])
			}
			k.device(b.Queue, device)
			k.cpu(host)
			for i := range host {
				same(t, "an array", fetched(b, device[i]), host[i])
			}
		}))
	}
}

// The arrays have more elements than a grid has threads.
func TestGridsGoOn(t *testing.T) {
	b := begin(t)
	defer b.end()
	const n = 4*mostBlocks*blockThreads + 1027
	x := place(b, make([]float32, n), 1)
	b.Fill(x, 1)
	b.Scale(3, x)
	got := fetched(b, x)
	for i, v := range got {
		if v != 3 {
			t.Fatalf("element %d is %g, want 3", i, v)
		}
	}
}

func TestSumOfParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := begin(t)
		defer b.end()
		r, n := drawNumbers(t), rapid.IntRange(0, 300).Draw(t, "n")
		parts := rapid.OneOf(rapid.IntRange(1, 4), rapid.IntRange(1, 70)).Draw(t, "parts")
		at := offsets(t, parts+1)
		device := make([][]float32, parts)
		var want []float32
		for i := range device {
			host := r.floats(n)
			device[i] = place(b, host, at[i])
			if i == 0 {
				want = append(want, host...)
			} else {
				vec.Add(want, host)
			}
		}
		dst := device[0]
		if rapid.Bool().Draw(t, "apart") {
			dst = place(b, r.floats(n), at[parts])
		}
		before := b.Launches()
		if rapid.Bool().Draw(t, "mean") {
			vec.Scale(1/float32(parts), want)
			b.Mean(dst, device)
		} else {
			b.Sum(dst, device)
		}
		same(t, "the sum", fetched(b, dst), want)
		if n > 0 && int(b.Launches()-before) != max(1, (parts-2)/15+1) {
			t.Fatalf("%d parts took %d launches", parts, b.Launches()-before)
		}
	})
}
