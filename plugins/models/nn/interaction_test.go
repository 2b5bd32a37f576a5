package nn

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/sdk/plugintest/gradcheck"
)

func gonum(t testing.TB) blas.BLAS {
	t.Helper()
	engine, err := blas.Open(blas.Gonum, 1)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// The products have the order of the published implementation: rows of the strict lower triangle.
func TestInteraction(t *testing.T) {
	x := Interaction{BLAS: gonum(t), Tables: 3, Dim: 2}
	y := make([]float32, x.Width())
	x.Forward(y, []float32{1, 2}, []float32{3, 5, 7, 11, 13, 17}, 6)
	near(t, y, []float32{1, 2, 3 + 10, 7 + 22, 21 + 55, 13 + 34, 39 + 85, 91 + 187})
}

func TestInteractionGradients(t *testing.T) {
	engine := gonum(t)
	rapid.Check(t, func(t *rapid.T) {
		x := Interaction{BLAS: engine, Tables: rapid.IntRange(1, 5).Draw(t, "tables"),
			Dim: rapid.IntRange(1, 5).Draw(t, "dim")}
		samples, gap := rapid.IntRange(1, 3).Draw(t, "samples"), rapid.IntRange(0, 3).Draw(t, "gap")
		stride := x.Tables*x.Dim + gap
		dense, rows := gradcheck.Grid(t, "dense", samples*x.Dim), gradcheck.Grid(t, "rows", samples*stride)
		dy, y := gradcheck.Grid(t, "dy", samples*x.Width()), make([]float32, samples*x.Width())
		loss := func() float64 {
			x.Forward(y, dense, rows, stride)
			return gradcheck.Weighted(dy, y)
		}
		denseGradient, rowsGradient := garbage(len(dense)), garbage(len(rows))
		loss() // as in training: leaves products in the memory that the gradient uses
		x.Gradient(denseGradient, rowsGradient, dy, dense, rows, stride)
		for i := range samples { // the gaps between two samples' rows must stay unchanged
			between := rowsGradient[i*stride+x.Tables*x.Dim : (i+1)*stride]
			if !slices.Equal(between, garbage(gap)) {
				t.Fatalf("between the rows stands %v", between)
			}
			clear(between)
		}
		gradcheck.Check(t, "dense", loss, dense, denseGradient, 2*tolerance)
		gradcheck.Check(t, "rows", loss, rows, rowsGradient, 2*tolerance)
	})
}

// BenchmarkInteraction runs a batch of 128 samples of the default DLRM.
func BenchmarkInteraction(b *testing.B) {
	for _, name := range []string{blas.Auto, blas.Native, blas.Gonum} {
		engine, err := blas.Open(name, 1)
		if err != nil {
			b.Fatal(err)
		}
		x := Interaction{BLAS: engine, Tables: 26, Dim: 16}
		const samples = 128
		dense, rows, y := make([]float32, samples*16), make([]float32, samples*26*16), make([]float32,
			samples*x.Width())
		splitmix.Uniform(1, 0, dense, 1)
		splitmix.Uniform(1, 1, rows, 1)
		denseGradient, rowsGradient := make([]float32, len(dense)), make([]float32, len(rows))
		b.Run(engine.Info().Engine+"/forward", func(b *testing.B) {
			for b.Loop() {
				x.Forward(y, dense, rows, 26*16)
			}
		})
		b.Run(engine.Info().Engine+"/gradient", func(b *testing.B) {
			for b.Loop() {
				x.Gradient(denseGradient, rowsGradient, y, dense, rows, 26*16)
			}
		})
	}
}
