//go:build nvidia

package driver

// #include "shim.h"
//
// #cgo nocallback psb_graph_launch
import "C"

import (
	"errors"
	"unsafe"

	"gorgonia.org/cu"
)

// Graph is recorded work of a stream. One call launches all of it, any number of times.
type Graph struct {
	context *Context
	cu      cu.Graph
	exec    cu.ExecGraph
	c       C.CUgraphExec // nil until Instantiate
}

// BeginCapture starts to record the work of s and of streams that wait for its events. The recorded work is not
// done.
func (s *Stream) BeginCapture() error {
	if err := s.context.usable("cuStreamBeginCapture"); err != nil {
		return err
	}
	return s.context.check("cuStreamBeginCapture", C.psb_begin_capture(s.context.c, s.c))
}

// EndCapture ends the recording. All other recorded streams must have been joined by events that s waits for.
func (s *Stream) EndCapture() (*Graph, error) {
	if err := s.context.usable("cuStreamEndCapture"); err != nil {
		return nil, err
	}
	var graph C.CUgraph
	if err := s.context.check("cuStreamEndCapture", C.psb_end_capture(s.context.c, s.c, &graph)); err != nil {
		return nil, err
	}
	g := &Graph{context: s.context}
	*(*C.CUgraph)(unsafe.Pointer(&g.cu)) = graph
	s.context.owned.add(graphs, uintptr(unsafe.Pointer(graph)), 0)
	return g, nil
}

// Instantiate makes the graph ready for launches.
func (g *Graph) Instantiate() error {
	if err := g.context.usable("cuGraphInstantiate"); err != nil {
		return err
	}
	graph := C.CUgraph(handle(&g.cu))
	if err := g.context.check("cuGraphInstantiate", C.psb_graph_instantiate(g.context.c, &g.c, graph)); err != nil {
		return err
	}
	*(*C.CUgraphExec)(unsafe.Pointer(&g.exec)) = g.c
	return nil
}

// Launch gives s the work of the graph.
func (g *Graph) Launch(s *Stream) error {
	if err := g.context.usable("cuGraphLaunch"); err != nil {
		return err
	}
	return g.context.check("cuGraphLaunch", C.psb_graph_launch(g.context.c, g.c, s.c))
}

// Destroy frees the graph.
func (g *Graph) Destroy() error {
	at := uintptr(handle(&g.cu))
	var executable error
	if g.c != nil {
		executable = g.context.giveBack("cuGraphExecDestroy", g.exec.Destroy)
		g.c = nil
	}
	err := errors.Join(executable, g.context.giveBack("cuGraphDestroy", g.cu.Destroy))
	if err == nil {
		g.context.owned.remove(graphs, at)
	}
	return err
}
