//go:build nvidia

package driver

// #include "shim.h"
//
// #cgo noescape psb_launch
// #cgo nocallback psb_launch
// #cgo nocallback psb_copy_in
// #cgo nocallback psb_copy_out
// #cgo nocallback psb_copy_device
// #cgo nocallback psb_clear
// #cgo nocallback psb_stream_query
// #cgo nocallback psb_stream_wait
// #cgo nocallback psb_stream_synchronize
import "C"

import (
	"fmt"
	"unsafe"

	"gorgonia.org/cu"
)

// Stream is a queue of work that the device does in order. Streams do not wait for each other or for the default
// stream, except by Wait.
type Stream struct {
	context *Context
	cu      cu.Stream
	c       C.CUstream
}

// NewStream makes a stream.
func (c *Context) NewStream() (*Stream, error) {
	s := &Stream{context: c}
	err := c.do("cuStreamCreate", func() (err error) {
		s.cu, err = cu.MakeStream(cu.NonBlocking)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.c = C.CUstream(handle(&s.cu))
	c.owned.add(streams, uintptr(unsafe.Pointer(s.c)), 0)
	return s, nil
}

// Context returns the context of the stream.
func (s *Stream) Context() *Context { return s.context }

// Handle returns the CUstream, for libraries that work on streams.
func (s *Stream) Handle() unsafe.Pointer { return unsafe.Pointer(s.c) }

// Destroy ends the stream. The device still finishes its work.
func (s *Stream) Destroy() error {
	at := uintptr(unsafe.Pointer(s.c))
	err := s.context.giveBack("cuStreamDestroy", s.cu.Destroy)
	if err == nil {
		s.context.owned.remove(streams, at)
	}
	return err
}

// Synchronize waits until the stream has done all its work, and returns any error of that work.
func (s *Stream) Synchronize() error {
	if err := s.context.usable("cuStreamSynchronize"); err != nil {
		return err
	}
	return s.context.check("cuStreamSynchronize", C.psb_stream_synchronize(s.context.c, s.c))
}

// Query reports whether the stream has done all its work.
func (s *Stream) Query() (done bool, err error) {
	if err := s.context.usable("cuStreamQuery"); err != nil {
		return false, err
	}
	result := C.psb_stream_query(s.context.c, s.c)
	if Code(result) == NotReady {
		return false, nil
	}
	return result == C.CUDA_SUCCESS, s.context.check("cuStreamQuery", result)
}

// Wait makes later work of the stream wait for the last recording of e. Wait does not wait for an event that was
// never recorded.
func (s *Stream) Wait(e *Event) error {
	if err := s.context.usable("cuStreamWaitEvent"); err != nil {
		return err
	}
	return s.context.check("cuStreamWaitEvent", C.psb_stream_wait(s.context.c, s.c, e.c))
}

// Launch gives the stream a kernel to run, on grid blocks of block threads. Each block has sharedBytes of dynamic
// shared memory. Launch reads args before it returns.
func (s *Stream) Launch(f Function, grid, block [3]uint32, sharedBytes uint32, args *Args) error {
	if err := s.context.usable("cuLaunchKernel"); err != nil {
		return err
	}
	if err := args.check(f); err != nil {
		return err
	}
	result := C.psb_launch(s.context.c, f.c, (*C.uint32_t)(&grid[0]), (*C.uint32_t)(&block[0]),
		C.uint32_t(sharedBytes), s.c, (*C.uint64_t)(&args.values[0]), C.int(args.n))
	if result == C.CUDA_SUCCESS {
		return nil
	}
	return s.context.failed(fmt.Sprintf("cuLaunchKernel of %s with a grid of %v and blocks of %v", f.name, grid, block),
		Code(result))
}

// CopyIn copies bytes of host memory to the device, after the stream's earlier work. Host memory must not be on a
// goroutine's stack, and must not change until the copy is done. The copy overlaps with other work only if the host
// memory is pinned.
func (s *Stream) CopyIn(dst Pointer, host unsafe.Pointer, bytes int) error {
	if err := s.context.usable("cuMemcpyHtoDAsync"); err != nil || bytes == 0 {
		return err
	}
	return s.context.checkBytes("cuMemcpyHtoDAsync", bytes,
		C.psb_copy_in(s.context.c, C.CUdeviceptr(dst), host, C.size_t(bytes), s.c))
}

// CopyOut copies bytes of the device's memory to the host. The rules of CopyIn apply.
func (s *Stream) CopyOut(host unsafe.Pointer, src Pointer, bytes int) error {
	if err := s.context.usable("cuMemcpyDtoHAsync"); err != nil || bytes == 0 {
		return err
	}
	return s.context.checkBytes("cuMemcpyDtoHAsync", bytes,
		C.psb_copy_out(s.context.c, host, C.CUdeviceptr(src), C.size_t(bytes), s.c))
}

// CopyDevice copies bytes within the device's memory.
func (s *Stream) CopyDevice(dst, src Pointer, bytes int) error {
	if err := s.context.usable("cuMemcpyDtoDAsync"); err != nil || bytes == 0 {
		return err
	}
	return s.context.checkBytes("cuMemcpyDtoDAsync", bytes,
		C.psb_copy_device(s.context.c, C.CUdeviceptr(dst), C.CUdeviceptr(src), C.size_t(bytes), s.c))
}

// Clear sets bytes of the device's memory to 0.
func (s *Stream) Clear(dst Pointer, bytes int) error {
	if err := s.context.usable("cuMemsetD8Async"); err != nil || bytes == 0 {
		return err
	}
	return s.context.checkBytes("cuMemsetD8Async", bytes,
		C.psb_clear(s.context.c, C.CUdeviceptr(dst), C.size_t(bytes), s.c))
}
