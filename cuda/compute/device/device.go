//go:build nvidia

// Package device is the engine of a CUDA device, cuda:N. The package manages the device's memory, its streams and
// its optimizers.
//
// A process uses three streams, so that copies overlap with computation and with each other:
//
//	compute  kernels of the model, the criterion and the optimizer, in the order in which they are given
//	out      copies from the device to ordinary memory
//	in       copies the other way
//
// On the device, a copy waits by an event for all earlier work of the compute stream. There is one exception: the
// copy in of a gradient that was copied out in the same backward pass would wait for the end of that pass, so it
// does not wait. The compute stream waits for no copy, because callers wait for copies they need (engine.Engine's
// Wait). One goroutine at a time launches kernels: the trainer's goroutine, or in a server the holder of the
// server's lock. Kernels run in the order of their launches. A part that launches work from several goroutines
// needs its own streams, from NewLane. Any goroutine may request copies and everything else.
package device

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/cuda/kernels"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/optimizer"
)

// Device is the engine of one device in one process.
type Device struct {
	context *driver.Context
	info    driver.DeviceInfo
	kernels *kernels.Kernels
	compute *Lane
	began   atomic.Int64 // number of calls of Compute
	out, in direction
	clock   clock

	mu      sync.Mutex
	blocks  map[driver.Pointer]int // size in bytes of each block, by its start
	lanes   []*Lane
	kept    []io.Closer // driver objects that parts keep
	adopted []*adoption
	refused error // the first reason why memory was not pinned
	ends    []*end
	across  across
	loans   map[driver.Pointer]*Loan // loans, keyed by the start of their values
}

var (
	_ optimizer.Engine = (*Device)(nil)
	_ engine.Borrower  = (*Device)(nil)
	_ engine.Spanner   = (*Device)(nil)
	_ sdk.Describer    = (*Device)(nil)
)

// Open opens a device by its number among the devices that the driver shows to the process.
func Open(ordinal int) (_ *Device, err error) {
	c, err := driver.Open(ordinal)
	if err != nil {
		return nil, err
	}
	d := &Device{context: c, info: c.Device(), blocks: map[driver.Pointer]int{}, loans: map[driver.Pointer]*Loan{}}
	defer func() {
		if err != nil {
			_ = d.Close() // the first error is returned
		}
	}()
	if d.kernels, err = kernels.Load(c); err != nil {
		return nil, err
	}
	if d.compute, err = d.NewLane(); err != nil {
		return nil, err
	}
	if err = d.clock.open(d); err != nil {
		return nil, err
	}
	if err = d.out.open(d); err != nil {
		return nil, err
	}
	return d, d.in.open(d)
}

// Of returns the device behind an engine, for parts that compute on a device.
func Of(e engine.Engine) (*Device, error) {
	if d, ok := e.(*Device); ok {
		return d, nil
	}
	return nil, fmt.Errorf("it computes on a CUDA device, but engine %s does not: choose it for CUDA ranks", e.Name())
}

// Name implements engine.Engine.
func (d *Device) Name() string { return fmt.Sprintf("cuda:%d", d.info.Ordinal) }

// Addressable implements engine.Engine: Go cannot access device memory.
func (d *Device) Addressable() bool { return false }

// Compute returns the compute stream for launching kernels. A part calls Compute in every method that computes.
// After it has emitted a gradient, it must launch no kernel that touches that gradient before the next Compute. So
// the copy in of an emitted gradient need not wait for later kernels (direction.free).
func (d *Device) Compute() *Lane {
	d.began.Add(1)
	return d.compute
}

// Products prepares for matrix products. A part that needs such products calls it first.
func (d *Device) Products() error { return d.kernels.Products() }

// Context returns the driver's context of the device.
func (d *Device) Context() *driver.Context { return d.context }

// Alloc implements engine.Engine. Each piece is a separate driver allocation of at least 1 byte, so that no two
// have the same address. If memory is short, the error reports how much is free.
func (d *Device) Alloc(t engine.Type, elements int) ([]byte, error) {
	if t.Bytes() == 0 {
		return nil, engine.Lacks(d.Name(), t, tensor.Types...)
	}
	n := elements * t.Bytes()
	p, err := d.context.Alloc(max(n, 1))
	if err != nil {
		return nil, fmt.Errorf("engine %s has no memory for %d bytes: %w", d.Name(), n, err)
	}
	d.mu.Lock()
	d.blocks[p] = n
	d.mu.Unlock()
	memory := at(p, n)
	if err := d.clear(p, n); err != nil {
		d.Free(memory)
		return nil, err
	}
	return memory, nil
}

// clear sets new memory to 0, so that any stream may use it first.
func (d *Device) clear(p driver.Pointer, n int) error {
	if n == 0 {
		return nil
	}
	s := d.in.stream
	if err := s.Clear(p, n); err != nil {
		return err
	}
	return s.Synchronize()
}

// Free implements engine.Engine. Free waits for all work of this process on the device.
func (d *Device) Free(memory []byte) {
	p := pointer(memory)
	d.mu.Lock()
	_, known := d.blocks[p]
	delete(d.blocks, p)
	d.mu.Unlock()
	if !known {
		return
	}
	_ = d.drain()         // a failure here also fails all later calls
	_ = d.context.Free(p) // a failure here also fails all later calls
}

// drain waits for all streams. The streams of a lost device have no work left.
func (d *Device) drain() error {
	if d.context.Lost() {
		return nil
	}
	d.mu.Lock()
	lanes := slices.Clone(d.lanes)
	d.mu.Unlock()
	var err error
	for _, l := range lanes {
		err = cmp.Or(err, l.Stream.Synchronize())
	}
	for _, c := range []*direction{&d.out, &d.in} {
		if c.stream != nil {
			err = cmp.Or(err, c.stream.Synchronize())
		}
	}
	return err
}

// CopyOut implements engine.Engine.
func (d *Device) CopyOut(host, memory []byte) engine.Ticket {
	return engine.Ticket{Number: d.out.copy(host, memory)}
}

// CopyIn implements engine.Engine.
func (d *Device) CopyIn(memory, host []byte) engine.Ticket {
	return engine.Ticket{In: true, Number: d.in.copy(host, memory)}
}

// Wait implements engine.Engine: it waits for an event.
func (d *Device) Wait(t engine.Ticket) error {
	if t.In {
		return d.in.wait(t.Number)
	}
	return d.out.wait(t.Number)
}

// Close implements engine.Engine. Close waits for all work and frees everything. Memory that is still adopted is an
// error, because its owner is about to unmap it. Close returns the first error. On a lost device, Close frees
// nothing and returns the loss.
func (d *Device) Close() error {
	err := d.drain()
	for _, a := range d.adopted {
		err = cmp.Or(err, fmt.Errorf("engine %s ends while %d bytes of memory are adopted", d.Name(), len(a.host)))
		err = cmp.Or(err, a.release())
	}
	for _, k := range slices.Backward(d.kept) {
		err = cmp.Or(err, k.Close())
	}
	for _, l := range d.lanes {
		err = cmp.Or(err, l.Queue.Close())
		err = cmp.Or(err, l.Stream.Destroy())
	}
	err = cmp.Or(err, d.out.close())
	err = cmp.Or(err, d.in.close())
	for p := range d.blocks {
		err = cmp.Or(err, d.context.Free(p))
	}
	d.adopted, d.kept, d.lanes, d.blocks = nil, nil, nil, nil
	d.across.close()
	if d.kernels != nil {
		err = cmp.Or(err, d.kernels.Close())
	}
	return cmp.Or(err, d.context.Close())
}

// NewEvent returns an event that Close of the device destroys.
func (d *Device) NewEvent(o driver.EventOptions) (*driver.Event, error) {
	e, err := d.context.NewEvent(o)
	if err == nil {
		d.keep(closer(e.Destroy))
	}
	return e, err
}

// closer makes a function an io.Closer.
type closer func() error

func (c closer) Close() error { return c() }

// keep registers something for Close, which closes it after all work.
func (d *Device) keep(c io.Closer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept = append(d.kept, c)
}

// at returns device memory as a slice. Go must not access its elements.
func at(p driver.Pointer, n int) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&p)), n) // #nosec G103 -- an address of the device, which is none of Go's
}

// pointer returns the device address of memory.
func pointer(memory []byte) driver.Pointer {
	return driver.Pointer(uintptr(unsafe.Pointer(unsafe.SliceData(memory)))) // #nosec G103 -- the way back
}
