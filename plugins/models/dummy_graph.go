package models

import (
	"fmt"
	"math/bits"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/plugins/models/blas"
	"github.com/psbench/psbench/plugins/models/nn"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/graph"
)

// dummyGraph implements the dummy model by gorgonia graphs, one for each shape of batch.
type dummyGraph struct {
	settings  DummySettings
	memory    engine.Engine
	values    []tensor.Tensor
	gradients []*tensor.Gradient

	tapes    map[tapeShape]*dummyTape
	tape     *dummyTape // tape of the last forward
	distinct []int64    // the distinct rows of its batch, ascending
}

// tapeShape determines the shapes of a graph.
type tapeShape struct{ samples, rows int }

// dummyTape is a graph with its inputs. The graph contains the rows that a batch looks up instead of the whole
// table, so the gradient has only these rows.
type dummyTape struct {
	*graph.Graph
	rows         []float32 // [rows, embedding_dim], copied from the table
	rowsGradient []float32 // gradient, shaped like rows
	bags         []float32 // [samples, rows], the weight of each row in each sample
	columns      int       // number of rows
}

func newDummyGraph(s DummySettings, memory engine.Engine, products blas.BLAS) *dummyGraph {
	gorgonia.Use(graphBLAS{engine: products})
	return &dummyGraph{settings: s, memory: memory, tapes: map[tapeShape]*dummyTape{}}
}

func (n *dummyGraph) bind(values []tensor.Tensor, gradients []*tensor.Gradient) {
	n.values, n.gradients = values, gradients
	clear(n.tapes)
}

func (n *dummyGraph) forward(b *sdk.Batch) ([]float32, error) {
	if err := nn.CheckBags(b, n.settings.NumEmbeddings); err != nil {
		return nil, err
	}
	n.distinct = append(n.distinct[:0], b.Indices...)
	slices.Sort(n.distinct)
	n.distinct = slices.Compact(n.distinct)
	tape, err := n.tapeFor(tapeShape{b.Size(), roundUp(len(n.distinct))})
	if err != nil {
		return nil, err
	}
	n.tape = tape
	n.lookUp(b)
	return tape.Forward()
}

// roundUp returns the smallest power of two that is at least n. This keeps the number of shapes small.
func roundUp(n int) int {
	if n < 2 {
		return 1
	}
	return 1 << bits.Len(uint(n-1))
}

func (n *dummyGraph) tapeFor(shape tapeShape) (*dummyTape, error) {
	if tape := n.tapes[shape]; tape != nil {
		return tape, nil
	}
	tape := &dummyTape{
		Graph:   graph.New(),
		columns: shape.rows,
	}
	for _, room := range []struct {
		of       *[]float32
		elements int
	}{
		{&tape.rows, shape.rows * n.settings.EmbeddingDim}, {&tape.rowsGradient, shape.rows * n.settings.EmbeddingDim},
		{&tape.bags, shape.samples * shape.rows},
	} {
		var err error
		if *room.of, err = engine.Floats(n.memory, room.elements); err != nil {
			return nil, err
		}
	}
	output, err := n.build(tape, shape)
	if err != nil {
		return nil, fmt.Errorf("gorgonia cannot build the dummy model: %w", err)
	}
	if err := tape.Compile(output); err != nil {
		return nil, err
	}
	n.tapes[shape] = tape
	return tape, nil
}

// build builds the model with one column per sample, y = W x + b. The graph then uses weights and their gradients
// in place, and transposes only small matrices.
func (n *dummyGraph) build(tape *dummyTape, shape tapeShape) (*gorgonia.Node, error) {
	s := n.settings
	rows := tape.Parameter("embedding", tape.rows, tape.rowsGradient, shape.rows, s.EmbeddingDim)
	bags := tape.Input("bags", tape.bags, shape.samples, shape.rows)
	x, err := gorgonia.Mul(bags, rows)
	if err != nil {
		return nil, err
	}
	if x, err = gorgonia.Transpose(x, 1, 0); err != nil {
		return nil, err
	}
	for l := range s.DenseLayersCount {
		w, b := weightOf(l), biasOf(l)
		weight := tape.Parameter(fmt.Sprintf("weight_%d", l), n.values[w].Data, n.gradients[w].Values,
			s.DenseOutputSize, s.DenseInputSize)
		bias := tape.Parameter(fmt.Sprintf("bias_%d", l), n.values[b].Data, n.gradients[b].Values, s.DenseOutputSize, 1)
		if x, err = gorgonia.Mul(weight, x); err != nil {
			return nil, err
		}
		if x, err = gorgonia.BroadcastAdd(x, bias, nil, []byte{1}); err != nil {
			return nil, err
		}
	}
	if x, err = gorgonia.Transpose(x, 1, 0); err != nil {
		return nil, err
	}
	return gorgonia.SoftMax(x, 1)
}

// lookUp fills the tape's rows and bags. lookUp sets surplus rows to 0.
func (n *dummyGraph) lookUp(b *sdk.Batch) {
	t, width := n.tape, n.settings.EmbeddingDim
	clear(t.rows)
	for i, row := range n.distinct {
		copy(t.rows[i*width:], n.row(n.values[0].Data, row))
	}
	clear(t.bags)
	for i := range b.Size() {
		bag := b.Bag(i)
		for _, row := range bag {
			column, _ := slices.BinarySearch(n.distinct, row)
			t.bags[i*t.columns+column] += 1 / float32(len(bag))
		}
	}
}

func (n *dummyGraph) row(table []float32, row int64) []float32 {
	start := int(row) * n.settings.EmbeddingDim
	return table[start : start+n.settings.EmbeddingDim]
}

func (n *dummyGraph) backward(_ *sdk.Batch, outputGradient []float32, emit func(parameter int)) error {
	var embedding error
	err := n.tape.Backward(outputGradient, func(parameter int) {
		if parameter == 0 {
			if embedding = n.embeddingGradient(); embedding != nil {
				return
			}
		}
		emit(parameter)
	})
	if err != nil {
		return err
	}
	return embedding
}

// embeddingGradient copies the gradient of the rows into the table's gradient.
func (n *dummyGraph) embeddingGradient() error {
	g, rows := n.gradients[0], n.tape.rowsGradient
	if n.settings.Sparse {
		if err := g.SetRows(len(n.distinct)); err != nil {
			return err
		}
		for i, row := range n.distinct {
			g.Rows[i] = int32(row) // #nosec G115 -- below num_embeddings
		}
		copy(g.Values, rows)
		return nil
	}
	clear(g.Values)
	for i, row := range n.distinct {
		copy(n.row(g.Values, row), rows[i*n.settings.EmbeddingDim:])
	}
	return nil
}
