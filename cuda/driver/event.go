//go:build nvidia

package driver

// #include "shim.h"
//
// #cgo nocallback psb_event_record
// #cgo nocallback psb_event_query
// #cgo nocallback psb_event_synchronize
// #cgo noescape psb_event_elapsed
// #cgo nocallback psb_event_elapsed
// #cgo noescape psb_export_event
// #cgo noescape psb_import_event
import "C"

import (
	"fmt"
	"unsafe"

	"gorgonia.org/cu"
)

// Event is a place in the work of a stream, that other streams and the host wait for.
type Event struct {
	context *Context
	cu      cu.Event
	c       C.CUevent
}

// EventOptions say what an event can do beside being waited for.
type EventOptions struct {
	Timing       bool // ElapsedMS
	Interprocess bool // ExportEvent; such an event has no timing
	BlockingSync bool // Synchronize sleeps in the end, where it would else spin on
}

// NewEvent makes an event, which counts as reached until it is recorded.
func (c *Context) NewEvent(o EventOptions) (*Event, error) {
	if o.Timing && o.Interprocess {
		return nil, fmt.Errorf(
			"an event on %v cannot have both timing and other processes: an interprocess event has no timing", c)
	}
	flags, asked := cu.DefaultEvent, "cuEventCreate"
	if !o.Timing {
		flags |= cu.DisableTiming
	}
	if o.Interprocess {
		flags |= cu.InterprocessEvent
		asked = interprocessEvent
	}
	if o.BlockingSync {
		flags |= cu.BlockingSyncEvent
	}
	e := &Event{context: c}
	err := c.do(asked, func() (err error) {
		e.cu, err = cu.MakeEvent(flags)
		return err
	})
	if err != nil {
		return nil, err
	}
	e.c = C.CUevent(handle(&e.cu))
	c.owned.add(events, uintptr(unsafe.Pointer(e.c)), 0)
	return e, nil
}

// Record puts the event behind the work that s has.
func (e *Event) Record(s *Stream) error {
	if err := e.context.usable("cuEventRecord"); err != nil {
		return err
	}
	return e.context.check("cuEventRecord", C.psb_event_record(e.context.c, e.c, s.c))
}

// Synchronize waits until the event is reached. It polls for 100 µs, and blocks then, with option BlockingSync asleep.
func (e *Event) Synchronize() error {
	if err := e.context.usable("cuEventSynchronize"); err != nil {
		return err
	}
	return e.context.check("cuEventSynchronize", C.psb_event_synchronize(e.context.c, e.c))
}

// Query says whether the event is reached.
func (e *Event) Query() (reached bool, err error) {
	if err := e.context.usable("cuEventQuery"); err != nil {
		return false, err
	}
	result := C.psb_event_query(e.context.c, e.c)
	if Code(result) == NotReady {
		return false, nil
	}
	return result == C.CUDA_SUCCESS, e.context.check("cuEventQuery", result)
}

// Destroy gives the event back.
func (e *Event) Destroy() error {
	at := uintptr(unsafe.Pointer(e.c))
	err := e.context.giveBack("cuEventDestroy", func() error { return cu.DestroyEvent(&e.cu) })
	if err == nil {
		e.context.owned.remove(events, at)
	}
	return err
}

// ElapsedMS is the time from a to b in ms, both of which must have been reached and have timing.
// The driver resolves about half a microsecond.
func ElapsedMS(a, b *Event) (float32, error) {
	if err := a.context.usable("cuEventElapsedTime"); err != nil {
		return 0, err
	}
	var ms C.float
	err := a.context.check("cuEventElapsedTime", C.psb_event_elapsed(a.context.c, &ms, a.c, b.c))
	return float32(ms), err
}

// ExportEvent makes a handle by which another process imports an event with option Interprocess.
func (c *Context) ExportEvent(e *Event) (handle [64]byte, err error) {
	if err := c.usable("cuIpcGetEventHandle"); err != nil {
		return handle, err
	}
	err = c.check("cuIpcGetEventHandle", C.psb_export_event(c.c, unsafe.Pointer(&handle), e.c))
	return handle, err
}

// ImportEvent opens an event of another process. Its Destroy leaves the other process's event.
func (c *Context) ImportEvent(handle [64]byte) (*Event, error) {
	if err := c.usable("cuIpcOpenEventHandle"); err != nil {
		return nil, err
	}
	e := &Event{context: c}
	if err := c.check("cuIpcOpenEventHandle", C.psb_import_event(c.c, &e.c, unsafe.Pointer(&handle))); err != nil {
		return nil, err
	}
	*(*C.CUevent)(unsafe.Pointer(&e.cu)) = e.c
	c.owned.add(events, uintptr(unsafe.Pointer(e.c)), 0)
	return e, nil
}
