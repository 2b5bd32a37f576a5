package engine

import (
	"fmt"

	"github.com/psbench/psbench/comm/tensor"
)

// Floats allocates n float32 elements.
func Floats(e Engine, n int) ([]float32, error) {
	memory, err := e.Alloc(Float32, n)
	if err != nil {
		return nil, err
	}
	if want := n * Float32.Bytes(); len(memory) != want {
		return nil, fmt.Errorf("engine %s gave %d bytes for %d elements of type float32, which take %d", e.Name(),
			len(memory), n, want)
	}
	return tensor.ViewFloat32(memory), nil
}

// Grow returns x with n elements. If x is too small, Grow frees it and returns new memory. The
// elements are undefined. x must be nil or an earlier result of Grow.
func Grow(e Engine, x []float32, n int) ([]float32, error) {
	if n <= cap(x) {
		return x[:n], nil
	}
	if cap(x) > 0 {
		e.Free(tensor.Float32Bytes(x[:cap(x)]))
	}
	return Floats(e, n)
}

// View returns values in memory that Go may read: values itself if the engine is addressable, else
// a copy in room, which View grows as needed.
func View(e Engine, room *[]float32, values []float32) ([]float32, error) {
	if e.Addressable() {
		return values, nil
	}
	if cap(*room) < len(values) {
		*room = make([]float32, len(values))
	}
	host := (*room)[:len(values)]
	return host, Out(e, host, values)
}

// Out copies from the engine's memory to the host's, and In the other way. Both wait for the copy.
// Both sides must have equally many elements.
func Out(e Engine, host, memory []float32) error {
	if err := same(e, host, memory); err != nil {
		return err
	}
	return e.Wait(e.CopyOut(tensor.Float32Bytes(host), tensor.Float32Bytes(memory)))
}

// In copies from the host's memory to the engine's; see Out.
func In(e Engine, memory, host []float32) error {
	if err := same(e, host, memory); err != nil {
		return err
	}
	return e.Wait(e.CopyIn(tensor.Float32Bytes(memory), tensor.Float32Bytes(host)))
}

func same(e Engine, host, memory []float32) error {
	if len(host) != len(memory) {
		return fmt.Errorf("%d elements of the host and %d of engine %s cannot be copied: both numbers must be equal",
			len(host), len(memory), e.Name())
	}
	return nil
}

// Clear sets memory to 0.
func Clear(e Engine, memory []float32) error {
	if e.Addressable() {
		clear(memory)
		return nil
	}
	return In(e, memory, make([]float32, len(memory)))
}

// NeedAddressable returns an error unless Go can touch the memory of e. Constructors of parts that
// compute in Go call it.
func NeedAddressable(e Engine) error {
	if e.Addressable() {
		return nil
	}
	return fmt.Errorf("it computes in Go, which cannot touch the memory of engine %s: choose one that computes there, or a plugin on another engine",
		e.Name())
}
