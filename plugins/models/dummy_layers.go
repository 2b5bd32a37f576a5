package models

import (
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/plugins/models/nn"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// dummyLayers is the dummy model written by hand. dummyLayers allocates nothing after its first iteration.
type dummyLayers struct {
	memory    engine.Engine
	sparse    bool
	embedding nn.EmbeddingBag
	layers    []nn.Linear
	gradients []*tensor.Gradient

	capacity    int          // samples that fit into the buffers
	activations [][]float32  // [l] is the input of layer l, the last element is the output; [capacity, width] each
	deltas      [2][]float32 // gradients of two neighbouring activations
}

func newDummyLayers(s DummySettings, env sdk.ModelEnv, products blas.BLAS) (*dummyLayers, error) {
	n := &dummyLayers{
		memory:    env.Engine,
		sparse:    s.Sparse,
		embedding: nn.EmbeddingBag{Rows: s.NumEmbeddings, Width: s.EmbeddingDim},
		layers:    make([]nn.Linear, s.DenseLayersCount),

		activations: make([][]float32, s.DenseLayersCount+1),
	}
	for l := range n.layers {
		n.layers[l] = nn.Linear{BLAS: products, In: s.DenseInputSize, Out: s.DenseOutputSize}
	}
	return n, n.grow(env.MaxBatch)
}

// grow allocates memory for a batch. Data parts that form their own batches may give a larger batch than before.
func (n *dummyLayers) grow(samples int) (err error) {
	if samples <= n.capacity {
		return nil
	}
	widest := 0
	for l := range n.activations {
		width := n.embedding.Width
		if l > 0 {
			width = n.layers[l-1].Out
			widest = max(widest, n.layers[l-1].In, width)
		}
		if n.activations[l], err = engine.Grow(n.memory, n.activations[l], samples*width); err != nil {
			return err
		}
	}
	for i := range n.deltas {
		if n.deltas[i], err = engine.Grow(n.memory, n.deltas[i], samples*widest); err != nil {
			return err
		}
	}
	n.capacity = samples
	return nil
}

func (n *dummyLayers) bind(values []tensor.Tensor, gradients []*tensor.Gradient) {
	n.gradients = gradients
	n.embedding.Table = values[0].Data
	for l := range n.layers {
		n.layers[l].Weight = values[weightOf(l)].Data
		n.layers[l].Bias = values[biasOf(l)].Data
	}
}

func (n *dummyLayers) forward(b *sdk.Batch) ([]float32, error) {
	if err := n.grow(b.Size()); err != nil {
		return nil, err
	}
	x := n.activations[0][:b.Size()*n.embedding.Width]
	if err := n.embedding.Forward(x, b); err != nil {
		return nil, err
	}
	for l := range n.layers {
		y := n.activations[l+1][:b.Size()*n.layers[l].Out]
		n.layers[l].Forward(y, x)
		x = y
	}
	nn.Softmax(x, len(x)/b.Size())
	return x, nil
}

// backward emits a layer's gradients before it computes the input gradient for the layer below, so that the
// reduction overlaps with this computation.
func (n *dummyLayers) backward(b *sdk.Batch, outputGradient []float32, emit func(parameter int)) error {
	rows := b.Size()
	above, below := n.deltas[0], n.deltas[1]
	dy := above[:len(outputGradient)]
	nn.SoftmaxGradient(dy, outputGradient, n.activations[len(n.layers)][:len(dy)], len(dy)/rows)
	for l := len(n.layers) - 1; l >= 0; l-- {
		layer := &n.layers[l]
		layer.BiasGradient(n.gradients[biasOf(l)].Values, dy)
		emit(biasOf(l))
		layer.WeightGradient(n.gradients[weightOf(l)].Values, dy, n.activations[l][:rows*layer.In])
		emit(weightOf(l))
		dx := below[:rows*layer.In]
		layer.InputGradient(dx, dy)
		dy, above, below = dx, below, above
	}
	if err := n.embeddingGradient(dy, b); err != nil {
		return err
	}
	emit(0)
	return nil
}

func (n *dummyLayers) embeddingGradient(dy []float32, b *sdk.Batch) error {
	if n.sparse {
		return n.embedding.SparseGradient(n.gradients[0], dy, b)
	}
	n.embedding.DenseGradient(n.gradients[0].Values, dy, b)
	return nil
}
