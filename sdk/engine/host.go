package engine

import (
	"io"

	"github.com/psbench/psbench/comm/tensor"
)

// Host is the engine of ordinary memory. Go code computes in this memory. Go's garbage collector frees its
// memory, and its copies are complete when the call returns.
var Host Engine = host{}

type host struct{}

func (host) Name() string      { return "host" }
func (host) Addressable() bool { return true }

// Alloc is make, whose memory is aligned for the type.
func (host) Alloc(t Type, elements int) ([]byte, error) {
	switch t {
	case "", Float32: // the zero Type
		return tensor.Float32Bytes(make([]float32, elements)), nil
	case Int32:
		return tensor.Int32Bytes(make([]int32, elements)), nil
	case Int64:
		return tensor.Int64Bytes(make([]int64, elements)), nil
	}
	return nil, Lacks("host", t, Float32, Int32, Int64)
}

func (host) Free([]byte) {}

func (host) Adopt([]byte) (io.Closer, error) { return host{}, nil }

func (host) CopyOut(to, memory []byte) Ticket {
	copy(to, memory)
	return Ticket{}
}

func (host) CopyIn(memory, from []byte) Ticket {
	copy(memory, from)
	return Ticket{In: true}
}

func (host) Wait(Ticket) error { return nil }
func (host) Close() error      { return nil }
