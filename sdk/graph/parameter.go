package graph

import (
	"fmt"
	"hash"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// parameter holds the destination of a parameter's gradient.
type parameter struct {
	unary
	number   int
	name     string
	gradient *tensor.Dense
	run      *run
}

// run is the state of a backward pass: which gradients are ready, and which one is emitted next.
type run struct {
	ready []bool
	next  int
	emit  func(parameter int)
}

func (r *run) start(emit func(parameter int)) {
	clear(r.ready)
	r.next, r.emit = len(r.ready)-1, emit
}

// complete marks gradient k as ready. complete then emits ready gradients in descending order, up
// to the first gradient that is missing.
func (r *run) complete(k int) {
	r.ready[k] = true
	for ; r.next >= 0 && r.ready[r.next]; r.next-- {
		r.emit(r.next)
	}
}

// deliver adds an operation to the graph that writes the gradient to its destination. A matrix
// product is computed directly there: the new operation replaces the old one, with the same inputs.
// Nothing needs the old operation any more.
func (p *parameter) deliver(gradient *gorgonia.Node) (*gorgonia.Node, error) {
	if into, ok := gradient.Op().(gorgonia.UsePreallocDoer); ok && gradient.Op().CallsExtern() {
		var inputs gorgonia.Nodes
		for it := gradient.Graph().From(gradient.ID()); it.Next(); {
			inputs = append(inputs, it.Node().(*gorgonia.Node))
		}
		return gorgonia.ApplyOp(&multiply{Op: gradient.Op(), into: into, parameter: p}, inputs...)
	}
	return gorgonia.ApplyOp(&store{p}, gradient)
}

// multiply is a matrix product that is computed directly at its destination.
type multiply struct {
	gorgonia.Op
	into      gorgonia.UsePreallocDoer // the same operation as Op
	parameter *parameter
}

func (m *multiply) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	p := m.parameter
	result, err := m.into.UsePreallocDo(p.gradient, inputs...)
	if err != nil {
		return nil, err
	}
	if result != gorgonia.Value(p.gradient) {
		return nil, fmt.Errorf("the gradient of %s was not computed in the memory of its parameter", p.name)
	}
	p.run.complete(p.number)
	return result, nil
}

// CallsExtern returns false so that the tape allocates no memory for the result.
func (m *multiply) CallsExtern() bool { return false }

func (m *multiply) WriteHash(h hash.Hash) { _, _ = h.Write([]byte(m.String())) }
func (m *multiply) Hashcode() uint32      { return hashcode(m) }
func (m *multiply) String() string {
	return fmt.Sprintf("gradient %d (%s) = %v", m.parameter.number, m.parameter.name, m.Op)
}

// store copies a gradient to its destination.
type store struct{ *parameter }

func (s *store) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	target := s.gradient.Data().([]float32)
	elements, err := elementsOf(inputs[0], len(target))
	if err != nil {
		return nil, fmt.Errorf("gradient of %s: %w", s.name, err)
	}
	copy(target, elements)
	s.run.complete(s.number)
	return inputs[0], nil
}

func (s *store) WriteHash(h hash.Hash) { _, _ = h.Write([]byte(s.String())) }
func (s *store) Hashcode() uint32      { return hashcode(s) }
func (s *store) String() string        { return fmt.Sprintf("gradient %d (%s)", s.number, s.name) }

// elementsOf returns the elements of a value in row-major order.
func elementsOf(value gorgonia.Value, want int) ([]float32, error) {
	t, ok := value.(*tensor.Dense)
	if !ok {
		return nil, fmt.Errorf("the value is a %T but must be a dense tensor", value)
	}
	if t.RequiresIterator() {
		t = t.Materialize().(*tensor.Dense)
	}
	elements, ok := t.Data().([]float32)
	if !ok || len(elements) != want {
		return nil, fmt.Errorf("the value has %d elements of type %v but must have %d of type float32", t.Size(),
			t.Dtype(), want)
	}
	return elements, nil
}
