// Package graph runs gorgonia graphs as models. A graph runs forward up to its output. Given the
// gradient of the output, the graph continues to the parameters' gradients. The graph reports each
// gradient as soon as that gradient is complete. Only plugins that import this package link
// gorgonia.
//
// A plugin's model makes a Graph for each shape of its batches. The model adds inputs and
// parameters, builds its output from their nodes with gorgonia's functions, and compiles the graph.
// docs/gorgonia.md explains a complete program.
package graph

import (
	"errors"
	"fmt"

	_ "go4.org/unsafe/assume-no-moving-gc" // gorgonia needs a version of this package for this Go release
	"gorgonia.org/gorgonia"
	gtensor "gorgonia.org/tensor"

	"github.com/psbench/psbench/comm/tensor"
)

// Graph is a gorgonia graph over float32 tensors whose shapes do not change. Only one goroutine at
// a time may use a Graph.
//
// One tape holds both directions. The tape stops after the output, and Backward continues from
// there, so nothing is computed twice. However, gorgonia drops its memory at the start of each run,
// so each iteration allocates activations and their gradients again. Each direction also uses one
// goroutine while it runs. A gradient that is a matrix product is computed in place; any other
// gradient is copied to its place.
type Graph struct {
	nodes      *gorgonia.ExprGraph
	names      int            // number of names given so far
	raw        gorgonia.Nodes // the node of each parameter
	parameters []*parameter
	fault      error // the first error of Input and Parameter
	machine    gorgonia.VM
	stop       *stop
	run        *run
}

// New returns an empty graph.
func New() *Graph { return &Graph{nodes: gorgonia.NewGraph(), run: &run{}} }

// Input adds a node without a gradient. values holds the elements in row-major order. Each Forward
// reads the elements again. The shape needs at least one dimension. Compile reports values that do
// not fit the shape.
func (g *Graph) Input(name string, values []float32, shape ...int) *gorgonia.Node {
	g.names++
	node := gorgonia.NewTensor(g.nodes, gtensor.Float32, len(shape), gorgonia.WithShape(shape...),
		gorgonia.WithName(fmt.Sprintf("%d %s", g.names, name))) // gorgonia treats nodes with equal names as one node
	if want := tensor.Elements(shape); len(shape) == 0 || want < 1 || len(values) != want {
		g.fail(fmt.Errorf(
			"%s has %d elements and shape %v: the shape must have dimensions, none of them empty, and as many elements",
			name, len(values), shape))
		return node
	}
	if err := gorgonia.Let(node, dense(values, shape)); err != nil {
		g.fail(fmt.Errorf("gorgonia refuses the values of %s: %w", name, err))
	}
	return node
}

// Parameter adds a node like Input. Each Backward writes the parameter's gradient to gradient.
// Parameters are numbered from 0 in the order of these calls. Compile reports a gradient whose
// length differs from the length of values.
func (g *Graph) Parameter(name string, values, gradient []float32, shape ...int) *gorgonia.Node {
	node := g.Input(name, values, shape...)
	if len(gradient) != len(values) {
		g.fail(fmt.Errorf("%s has %d elements but its gradient has %d; there must be equally many",
			name, len(values), len(gradient)))
	}
	p := &parameter{number: len(g.parameters), name: name, run: g.run}
	if g.fault == nil {
		p.gradient = dense(gradient, shape)
	}
	g.raw, g.parameters = append(g.raw, node), append(g.parameters, p)
	watched, err := gorgonia.ApplyOp(watch{p}, node)
	if err != nil {
		g.fail(fmt.Errorf("gorgonia refuses %s: %w", name, err))
		return node
	}
	return watched
}

func (g *Graph) fail(err error) {
	if g.fault == nil {
		g.fault = err
	}
}

// Compile differentiates the output with respect to all parameters and creates the tape. Compile
// leaves out nodes that the output and the gradients do not need. Compile returns an error unless
// the output is a differentiable function of every parameter.
func (g *Graph) Compile(output *gorgonia.Node) error {
	switch {
	case g.fault != nil:
		return g.fault
	case g.machine != nil:
		return errors.New("the graph is compiled already: make a new one for another output")
	case output == nil || output.Graph() != g.nodes:
		return errors.New("the output must be a node of the graph that is compiled")
	case len(g.parameters) == 0:
		return errors.New("the graph has no parameters but must have at least one")
	}
	stop := &stop{output: make([]float32, output.Shape().TotalSize()), shape: output.Shape()}
	upstream, err := gorgonia.ApplyOp(stop, output)
	if err != nil {
		return fmt.Errorf("gorgonia cannot stop behind the output: %w", err)
	}
	gradients, err := gorgonia.Backpropagate(gorgonia.Nodes{output}, gorgonia.Nodes{upstream}, g.raw)
	if err != nil {
		return fmt.Errorf("gorgonia cannot differentiate the output: %w", err)
	}
	program, locations, err := gorgonia.Compile(g.nodes.ExactSubgraphRoots(gradients...))
	if err != nil {
		return fmt.Errorf("gorgonia cannot compile the graph: %w", err)
	}
	g.machine = gorgonia.NewTapeMachine(g.nodes, gorgonia.WithPrecompiled(program, locations))
	g.stop = stop
	g.run.ready = make([]bool, len(g.parameters))
	return nil
}

// Forward returns the elements of the output in row-major order. These elements are valid until the
// next Forward. Inputs and parameters must not change until Backward has read them.
func (g *Graph) Forward() ([]float32, error) {
	if g.machine == nil {
		return nil, errors.New("the graph must be compiled before it runs")
	}
	g.machine.Reset()
	g.stop.reached, g.stop.upstream = false, nil
	if err := g.machine.RunAll(); !g.stop.reached {
		return nil, fmt.Errorf("gorgonia's tape ended before the output: %w", err)
	}
	return g.stop.output, nil
}

// Backward continues from the last Forward with the gradient of the loss with respect to the
// output. Backward overwrites every parameter's gradient. Backward calls emit(k) in descending
// order while the tape still runs. The call comes once gradient k and all later gradients are
// complete.
func (g *Graph) Backward(outputGradient []float32, emit func(parameter int)) error {
	if g.machine == nil || !g.stop.reached {
		return errors.New("a graph goes backward once after each time that it went forward")
	}
	if len(outputGradient) != len(g.stop.output) {
		return fmt.Errorf("the output's gradient has %d elements but the output has %d", len(outputGradient),
			len(g.stop.output))
	}
	g.run.start(emit)
	g.stop.reached = false
	// Pass a copy, because the tape may overwrite it.
	g.stop.upstream = dense(append([]float32(nil), outputGradient...), g.stop.shape)
	if err := g.machine.RunAll(); err != nil {
		return fmt.Errorf("gorgonia's tape ended before all gradients were complete: %w", err)
	}
	return nil
}

// dense returns a tensor that uses the memory of elements.
func dense(elements []float32, shape gtensor.Shape) *gtensor.Dense {
	return gtensor.New(gtensor.WithShape(shape...), gtensor.WithBacking(elements))
}
