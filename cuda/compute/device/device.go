//go:build nvidia

// Package device is the engine of a CUDA device, cuda:N: its memory, its streams, and the optimizers
// that step there.
//
// The work of a process is in three streams, so that copies overlap with it and with each other:
//
//	compute  kernels of the model, the criterion and the optimizer, in the order in which they are given
//	out      copies from the device to ordinary memory
//	in       copies the other way
//
// A copy waits for what the compute stream had been given before it, on the device, by an event; but
// not the copy in of a gradient that has come out in the same backward pass, which would wait for the
// end of that. The compute stream waits for no copy, since whoever needs one has waited for it before
// (engine.Engine's Wait). Kernels are given by one goroutine at a time: in a trainer by the trainer's, in a server by
// whichever holds that server's lock; in that order they run. A part that gives work from several
// goroutines takes streams of its own, by NewLane. Copies and everything else may be asked for by any
// goroutine.
package device

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

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
	began   atomic.Int64 // calls of Compute
	out, in direction
	clock   clock

	mu      sync.Mutex
	blocks  map[driver.Pointer]int // bytes, by where they begin
	lanes   []*Lane
	kept    []io.Closer // what parts keep of the driver
	adopted []*adoption
	refused error // why memory was not pinned, the first time
	ends    []*end
	across  across
	loans   map[driver.Pointer]*Loan // by where their values begin
}

var (
	_ optimizer.Engine = (*Device)(nil)
	_ engine.Borrower  = (*Device)(nil)
	_ engine.Spanner   = (*Device)(nil)
	_ sdk.Describer    = (*Device)(nil)
)

// Open opens a device by its number among those that the driver shows to the process.
func Open(ordinal int) (_ *Device, err error) {
	c, err := driver.Open(ordinal)
	if err != nil {
		return nil, err
	}
	d := &Device{context: c, info: c.Device(), blocks: map[driver.Pointer]int{}, loans: map[driver.Pointer]*Loan{}}
	defer func() {
		if err != nil {
			_ = d.Close() // what failed first is told
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

// Of is the device that an engine is, for parts that compute on one.
func Of(e engine.Engine) (*Device, error) {
	if d, ok := e.(*Device); ok {
		return d, nil
	}
	return nil, fmt.Errorf("it computes on a CUDA device, and engine %s is none: choose it for CUDA ranks", e.Name())
}

// Name implements engine.Engine.
func (d *Device) Name() string { return fmt.Sprintf("cuda:%d", d.info.Ordinal) }

// Addressable implements engine.Engine: Go can touch nothing here.
func (d *Device) Addressable() bool { return false }

// Compute begins to give kernels to the compute stream. A part calls it in each call that it is asked to
// compute in, and after it has had a gradient emitted it gives no kernel that touches that: so a copy in
// to a gradient that has come out need not wait for the kernels after it (direction.free).
func (d *Device) Compute() *Lane {
	d.began.Add(1)
	return d.compute
}

// Products prepares for products of matrices, which a part calls that makes some.
func (d *Device) Products() error { return d.kernels.Products() }

// Context is the device as the driver knows it.
func (d *Device) Context() *driver.Context { return d.context }

// types are those of which there is memory.
var types = []engine.Type{engine.Float32, engine.Float16, engine.BFloat16, engine.Int32, engine.Int64}

// Alloc implements engine.Engine: each piece is an allocation of the driver's own, of 1 byte at least,
// so that no two have one address. Where memory is short the driver's error says how much is free.
func (d *Device) Alloc(t engine.Type, elements int) ([]byte, error) {
	if t.Bytes() == 0 {
		return nil, engine.Lacks(d.Name(), t, types...)
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

// clear sets new memory to 0, for whichever stream is the first to use it.
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

// Free implements engine.Engine: it waits for all work on the device that this process gave.
func (d *Device) Free(memory []byte) {
	p := pointer(memory)
	d.mu.Lock()
	_, known := d.blocks[p]
	delete(d.blocks, p)
	d.mu.Unlock()
	if !known {
		return
	}
	_ = d.drain()         // what fails there fails everything after it, too
	_ = d.context.Free(p) // likewise
}

// drain waits for all streams, which have nothing left of a device that is lost.
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

// Close implements engine.Engine: it waits for all work and frees everything. Memory that is still adopted
// is an error, since its owner unmaps it next. Close returns the first error. A lost device frees nothing,
// and the error is its loss.
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

// NewEvent makes an event that lives as long as the device.
func (d *Device) NewEvent(o driver.EventOptions) (*driver.Event, error) {
	e, err := d.context.NewEvent(o)
	if err == nil {
		d.keep(closer(e.Destroy))
	}
	return e, err
}

// closer is a function as an io.Closer.
type closer func() error

func (c closer) Close() error { return c() }

// keep has Close close something, after all work.
func (d *Device) keep(c io.Closer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept = append(d.kept, c)
}

// at is memory of the device as a slice that Go never touches.
func at(p driver.Pointer, n int) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&p)), n) // #nosec G103 -- an address of the device, which is none of Go's
}

// pointer is where memory begins on the device.
func pointer(memory []byte) driver.Pointer {
	return driver.Pointer(uintptr(unsafe.Pointer(unsafe.SliceData(memory)))) // #nosec G103 -- the way back
}
