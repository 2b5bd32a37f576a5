package models

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/sdk"
)

// The largest allowed difference between two engines, which add in different orders. The difference is a share of
// the tensor's largest element, plus float32's rounding of terms of size 1, because terms may cancel each other.
const (
	oracleTolerance = 1e-5
	oracleRounding  = 2e-7
)

// TestEnginesAgree checks the hand-written gradients against gorgonia, which derives gradients from the graph.
func TestEnginesAgree(t *testing.T) {
	product := productsOf(t, blas.Gonum)
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSettings(rt)
		maxBatch := rapid.IntRange(1, 6).Draw(rt, "largest batch")
		s.Engine = Layers
		layers := newReplica(t, s, maxBatch, product)
		s.Engine = Gorgonia
		graph := newReplica(t, s, maxBatch, product)
		seed := rapid.Uint64().Draw(rt, "seed")
		layers.model.Initialize(seed)
		graph.model.Initialize(seed)
		for range 3 {
			b := drawBatch(rt, s, maxBatch)
			want, got := layers.forward(t, b), graph.forward(t, b)
			agree(rt, "the loss", []float32{float32(got)}, []float32{float32(want)})
			layers.backward(t, b)
			graph.backward(t, b)
			if !slices.Equal(graph.emitted, layers.emitted) {
				rt.Fatalf("gorgonia emits %v, the layers emit %v", graph.emitted, layers.emitted)
			}
			if s.Sparse && !slices.Equal(graph.grads[0].Rows, layers.grads[0].Rows) {
				rt.Fatalf("gorgonia has rows %v, the layers have %v", graph.grads[0].Rows, layers.grads[0].Rows)
			}
			for k, spec := range layers.model.Parameters() {
				agree(rt, "the gradient of "+spec.Name, graph.spread(k), layers.spread(k))
				if !slices.Equal(graph.params[k].Data, layers.params[k].Data) {
					rt.Fatalf("gorgonia changed the values of %s", spec.Name)
				}
			}
		}
	})
}

func drawSettings(t *rapid.T) DummySettings {
	size := rapid.IntRange(1, 12)
	s := DummySettings{
		NumEmbeddings:    rapid.IntRange(1, 40).Draw(t, "rows"),
		EmbeddingDim:     size.Draw(t, "width"),
		DenseOutputSize:  size.Draw(t, "classes"),
		DenseLayersCount: rapid.IntRange(1, 4).Draw(t, "layers"),
		Sparse:           rapid.Bool().Draw(t, "sparse"),
	}
	s.DenseInputSize = s.EmbeddingDim
	if s.DenseLayersCount > 1 {
		s.DenseOutputSize = s.EmbeddingDim
	}
	return s
}

func drawBatch(t *rapid.T, s DummySettings, maxBatch int) *sdk.Batch {
	b := &sdk.Batch{}
	bag := rapid.SliceOfN(rapid.Int64Range(0, int64(s.NumEmbeddings)-1), 0, 9)
	for range rapid.IntRange(1, maxBatch).Draw(t, "samples") {
		b.Append(bag.Draw(t, "bag"), rapid.Int64Range(0, int64(s.DenseOutputSize)-1).Draw(t, "target"))
	}
	return b
}

func agree(t *rapid.T, what string, got, want []float32) {
	var largest float64
	for _, v := range want {
		largest = max(largest, math.Abs(float64(v)))
	}
	for i, v := range want {
		if !(math.Abs(float64(got[i]-v)) <= oracleTolerance*largest+oracleRounding) {
			t.Fatalf("%s has element %d = %g instead of %g", what, i, got[i], v)
		}
	}
}
