package graph

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// unary is the common base of the operations in this file. Each operation has one input, and a
// result of the input's type and shape.
type unary struct{}

func (unary) Arity() int           { return 1 }
func (unary) ReturnsPtr() bool     { return true }
func (unary) CallsExtern() bool    { return false }
func (unary) OverwritesInput() int { return -1 }

func (unary) Type() hm.Type {
	a := hm.TypeVariable('a')
	return hm.NewFnType(a, a)
}

func (unary) InferShape(inputs ...gorgonia.DimSizer) (tensor.Shape, error) {
	shape, ok := inputs[0].(tensor.Shape)
	if !ok {
		return nil, fmt.Errorf("the input has no shape but a %T", inputs[0])
	}
	return shape.Clone(), nil
}

// hashcode hashes the name of an operation. Gorgonia tells operations apart by this hash.
func hashcode(op fmt.Stringer) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(op.String())) // it never fails
	return h.Sum32()
}

// errStopped ends a run of the tape after the output.
var errStopped = errors.New("the output is there")

// stop takes the output as its input and returns the output's gradient. If there is no gradient so
// far, stop fails, so that the tape stops there. The next run of the tape continues with this
// operation.
type stop struct {
	unary
	reached  bool
	output   []float32
	shape    tensor.Shape
	upstream *tensor.Dense
}

func (s *stop) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	if s.upstream != nil {
		return s.upstream, nil
	}
	elements, err := elementsOf(inputs[0], len(s.output))
	if err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	copy(s.output, elements)
	s.reached = true
	return nil, errStopped
}

// DiffWRT and SymDiff are required: gorgonia refuses an operation between output and gradients that
// lacks these methods.
func (s *stop) DiffWRT(inputs int) []bool { return make([]bool, inputs) }

func (s *stop) SymDiff(gorgonia.Nodes, *gorgonia.Node, *gorgonia.Node) (gorgonia.Nodes, error) {
	return nil, errors.New("the gradient of the output has no gradient")
}

func (s *stop) WriteHash(h hash.Hash) { _, _ = h.Write([]byte(s.String())) }
func (s *stop) Hashcode() uint32      { return hashcode(s) }
func (s *stop) String() string        { return "stop behind the output" }

// watch is the identity on a parameter. Differentiating watch adds the operation that reports the
// gradient to the graph. The tape then runs that operation when it has computed the gradient.
type watch struct{ *parameter }

func (w watch) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) { return inputs[0], nil }

func (w watch) DiffWRT(inputs int) []bool { return []bool{true} }

func (w watch) SymDiff(_ gorgonia.Nodes, _, gradient *gorgonia.Node) (gorgonia.Nodes, error) {
	node, err := w.deliver(gradient)
	return gorgonia.Nodes{node}, err
}

func (w watch) WriteHash(h hash.Hash) { _, _ = h.Write([]byte(w.String())) }
func (w watch) Hashcode() uint32      { return hashcode(w) }
func (w watch) String() string        { return fmt.Sprintf("parameter %d (%s)", w.number, w.name) }
