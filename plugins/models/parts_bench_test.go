package models

import (
	"testing"

	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/plugins/models/nn"
)

// BenchmarkParts times each part of a step of the default model. BenchmarkParts runs each part over all eight
// layers, so that weights and gradients come from memory as in training. The rate counts only the matrices of 4 MiB
// that a part must read or write. The part copy is memcpy, counted the same way.
func BenchmarkParts(b *testing.B) {
	engine, err := blas.Open(blas.Auto, 1)
	if err != nil {
		b.Fatal(err)
	}
	const rows, layers, size = 10, 8, 1024
	const matrix = size * size
	values, gradients := filled(layers*matrix), filled(layers*matrix)
	x, dy, out := filled(rows*size), filled(rows*size), make([]float32, rows*size)
	at := func(all []float32, l int) []float32 { return all[l*matrix : (l+1)*matrix] }
	layer := func(l int) nn.Linear {
		return nn.Linear{BLAS: engine, In: size, Out: size, Weight: at(values, l), Bias: x[:size]}
	}
	for _, part := range []struct {
		name     string
		matrices int // matrices read or written per layer
		run      func(l int)
	}{
		{"copy", 2, func(l int) { copy(at(gradients, l), at(values, l)) }},
		{"forward", 1, func(l int) { layer := layer(l); layer.Forward(out, x) }},
		{"input gradient", 1, func(l int) { layer := layer(l); layer.InputGradient(out, dy) }},
		{"weight gradient", 1, func(l int) { layer := layer(l); layer.WeightGradient(at(gradients, l), dy, x) }},
		{"sgd", 3, func(l int) { vec.Axpy(-1e-4, at(gradients, l), at(values, l)) }},
	} {
		b.Run(part.name, func(b *testing.B) {
			b.SetBytes(int64(layers * part.matrices * 4 * matrix))
			for b.Loop() {
				for l := range layers {
					part.run(l)
				}
			}
		})
	}
}

func filled(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(i%7) / 7
	}
	return out
}
