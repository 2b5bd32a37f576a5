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

// Event is a position in a stream's work. Other streams and the host can wait for it.
type Event struct {
	context *Context
	cu      cu.Event
	c       C.CUevent
}

// EventOptions select additional features of an event.
type EventOptions struct {
	Timing       bool // for ElapsedMS
	Interprocess bool // allows ExportEvent; excludes Timing
	BlockingSync bool // Synchronize finally sleeps instead of spinning
}

// NewEvent returns an event. The event counts as reached until it is recorded.
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

// Record puts the event after all work that s has so far.
func (e *Event) Record(s *Stream) error {
	if err := e.context.usable("cuEventRecord"); err != nil {
		return err
	}
	return e.context.check("cuEventRecord", C.psb_event_record(e.context.c, e.c, s.c))
}

// Synchronize waits until the event is reached. Synchronize polls for 100 µs and then blocks. With option
// BlockingSync, it sleeps while it blocks.
func (e *Event) Synchronize() error {
	if err := e.context.usable("cuEventSynchronize"); err != nil {
		return err
	}
	return e.context.check("cuEventSynchronize", C.psb_event_synchronize(e.context.c, e.c))
}

// Query reports whether the event is reached.
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

// Destroy frees the event.
func (e *Event) Destroy() error {
	at := uintptr(unsafe.Pointer(e.c))
	err := e.context.giveBack("cuEventDestroy", func() error { return cu.DestroyEvent(&e.cu) })
	if err == nil {
		e.context.owned.remove(events, at)
	}
	return err
}

// ElapsedMS returns the time from a to b in ms. Both must have been reached and have timing. The driver's
// resolution is about half a microsecond.
func ElapsedMS(a, b *Event) (float32, error) {
	if err := a.context.usable("cuEventElapsedTime"); err != nil {
		return 0, err
	}
	var ms C.float
	err := a.context.check("cuEventElapsedTime", C.psb_event_elapsed(a.context.c, &ms, a.c, b.c))
	return float32(ms), err
}

// ExportEvent returns a handle with which another process can import an event that has option Interprocess.
func (c *Context) ExportEvent(e *Event) (handle [64]byte, err error) {
	if err := c.usable("cuIpcGetEventHandle"); err != nil {
		return handle, err
	}
	err = c.check("cuIpcGetEventHandle", C.psb_export_event(c.c, unsafe.Pointer(&handle), e.c))
	return handle, err
}

// ImportEvent opens an event of another process. Destroy of the returned event does not affect the other process.
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
