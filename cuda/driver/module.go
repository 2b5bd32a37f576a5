//go:build nvidia

package driver

// #include "shim.h"
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"runtime"

	"gorgonia.org/cu"
)

// Module is PTX that the driver has compiled for the device.
type Module struct {
	context *Context
	cu      cu.Module
}

// Function is a kernel of a module.
type Function struct {
	name string
	c    C.CUfunction
}

// LoadModule compiles PTX for the device. An error includes the first message of the driver's compiler.
func (c *Context) LoadModule(ptx []byte) (*Module, error) {
	m := &Module{context: c}
	said := make([]byte, 4096)
	asked := ofBytes("cuModuleLoadDataEx", len(ptx))
	err := c.do(asked, func() (err error) {
		m.cu, err = cu.LoadDataEx(string(ptx), &cu.JITErrorLogBuffer{Buffer: said})
		return err
	})
	runtime.KeepAlive(said)
	if err != nil {
		return nil, c.notCompiled(err, said)
	}
	c.owned.add(modules, uintptr(handle(&m.cu)), 0)
	return m, nil
}

func (c *Context) notCompiled(err error, said []byte) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	line, _, _ := bytes.Cut(said, []byte{0})
	line, _, _ = bytes.Cut(bytes.TrimSpace(line), []byte{'\n'})
	switch {
	case e.Code == UnsupportedPTX:
		e.Advice = fmt.Sprintf("the driver, of CUDA %v, is too old for this PTX: install a newer one",
			c.info.DriverVersion)
	case e.Code == NoBinary:
		e.Advice = fmt.Sprintf("the card, of compute capability %v, is too old for this PTX", c.info.ComputeCapability)
	case len(line) > 0:
		e.Advice = string(line)
	}
	return e
}

// Function returns a kernel by its name in the PTX.
func (m *Module) Function(name string) (Function, error) {
	f := Function{name: name}
	err := m.context.do("cuModuleGetFunction of "+name, func() error {
		found, err := m.cu.Function(name)
		f.c = C.CUfunction(handle(&found))
		return err
	})
	return f, err
}

// Unload frees the module. None of its kernels may be running.
func (m *Module) Unload() error {
	err := m.context.giveBack("cuModuleUnload", m.cu.Unload)
	if err == nil {
		m.context.owned.remove(modules, uintptr(handle(&m.cu)))
	}
	return err
}

// maxArguments is the largest number of a kernel's parameters. The shim has the same limit.
const maxArguments = 32

// Args are the arguments of a launch, in the order of the kernel's parameters and with exactly their types. The
// same Args may be used for several launches, one at a time.
type Args struct {
	values [maxArguments]uint64 // each argument is in the low bytes
	n      int
}

// Reset removes all arguments.
func (a *Args) Reset() { a.n = 0 }

// Pointer adds an address of the device.
func (a *Args) Pointer(p Pointer) { a.add(uint64(p)) }

// U32 adds an argument of type .u32 or .b32.
func (a *Args) U32(v uint32) { a.add(uint64(v)) }

// I32 adds an argument of type .s32.
func (a *Args) I32(v int32) { a.add(uint64(uint32(v))) }

// U64 adds an argument of type .u64 or .b64.
func (a *Args) U64(v uint64) { a.add(v) }

// I64 adds an argument of type .s64.
func (a *Args) I64(v int64) { a.add(uint64(v)) }

// F32 adds an argument of type .f32.
func (a *Args) F32(v float32) { a.add(uint64(math.Float32bits(v))) }

// F64 adds an argument of type .f64.
func (a *Args) F64(v float64) { a.add(math.Float64bits(v)) }

// add also counts arguments beyond the limit; check reports them.
func (a *Args) add(v uint64) {
	if a.n < maxArguments {
		a.values[a.n] = v
	}
	a.n++
}

func (a *Args) check(f Function) error {
	if a.n > maxArguments {
		return fmt.Errorf("kernel %s is given %d arguments, but there is room for %d", f.name, a.n, maxArguments)
	}
	return nil
}
