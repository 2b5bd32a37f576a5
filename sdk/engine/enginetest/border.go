package enginetest

import (
	"fmt"
	"io"
	"unsafe"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/engine"
)

// at is how many bytes behind the beginning of whole x begins; below 0 if it does not lie in it.
func at(whole, x []byte) int {
	from, address := uintptr(unsafe.Pointer(unsafe.SliceData(whole))), uintptr(unsafe.Pointer(unsafe.SliceData(x))) // #nosec G103 -- addresses are compared
	if address < from || address+uintptr(len(x)) > from+uintptr(len(whole)) {
		return -1
	}
	return int(address - from)
}

// lit is memory of the engine where it can be touched.
func (d *Dark) lit(memory []byte) []byte {
	return d.other(memory, func(b *block) ([]byte, []byte) { return b.dark, b.lit })
}

// dark is the way back.
func (d *Dark) dark(memory []byte) []byte {
	return d.other(memory, func(b *block) ([]byte, []byte) { return b.lit, b.dark })
}

// other is memory at its other address, with its capacity.
func (d *Dark) other(memory []byte, sides func(*block) (here, there []byte)) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, b := range d.blocks {
		here, there := sides(b)
		if from := at(here, memory[:cap(memory)]); from >= 0 {
			return there[from : from+len(memory) : from+cap(memory)]
		}
	}
	panic(fmt.Sprintf("%d bytes do not lie in the memory of engine %s", len(memory), d.Name()))
}

// litFloats is lit for elements. An empty slice may have no address.
func (d *Dark) litFloats(x []float32) []float32 {
	if cap(x) == 0 {
		return nil
	}
	whole := d.lit(tensor.Float32Bytes(x[:cap(x)]))
	return tensor.ViewFloat32(whole)[:len(x)]
}

func (d *Dark) litTensor(t tensor.Tensor) tensor.Tensor {
	return tensor.Tensor{Shape: t.Shape, Data: d.litFloats(t.Data)}
}

func (d *Dark) darkTensor(t tensor.Tensor) tensor.Tensor {
	return tensor.Tensor{Shape: t.Shape, Data: tensor.ViewFloat32(d.dark(tensor.Float32Bytes(t.Data)))}
}

func (d *Dark) litTensors(list []tensor.Tensor) []tensor.Tensor {
	out := make([]tensor.Tensor, len(list))
	for i, t := range list {
		out[i] = d.litTensor(t)
	}
	return out
}

// litGradients have their rows in the same memory as the others.
func (d *Dark) litGradients(list []*tensor.Gradient) []*tensor.Gradient {
	out := make([]*tensor.Gradient, len(list))
	for i, g := range list {
		out[i] = &tensor.Gradient{Values: d.litFloats(g.Values), Rows: g.Rows, Width: g.Width}
	}
	return out
}

// Inside is the engine as its kernels know it: they compute in ordinary memory, which is the
// engine's in the light.
func (d *Dark) Inside() engine.Engine { return inside{d} }

type inside struct{ *Dark }

func (i inside) Name() string      { return i.Dark.Name() + ", inside" }
func (i inside) Addressable() bool { return true }

func (i inside) Alloc(t engine.Type, elements int) ([]byte, error) {
	memory, err := i.Dark.Alloc(t, elements)
	if err != nil {
		return nil, err
	}
	return i.lit(memory), nil
}

func (i inside) Free(memory []byte) { i.Dark.Free(i.dark(memory)) }

func (i inside) Adopt(host []byte) (io.Closer, error) { return engine.Host.Adopt(host) }

func (i inside) CopyOut(host, memory []byte) engine.Ticket { return engine.Host.CopyOut(host, memory) }
func (i inside) CopyIn(memory, host []byte) engine.Ticket  { return engine.Host.CopyIn(memory, host) }
func (i inside) Wait(engine.Ticket) error                  { return nil }
