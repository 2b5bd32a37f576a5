//go:build nvidia

package library

// #include "shim.h"
//
// #cgo noescape psb_nccl_all_reduce
// #cgo noescape psb_nccl_async_error
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"github.com/psbench/psbench/cuda/driver"
)

// ncclNames are the file names of NCCL. NCCL's soname has not changed since 2015.
var ncclNames = []string{"libnccl.so.2", "libnccl.so"}

// NCCL is NVIDIA's library for collectives between cards. NCCL refuses two ranks on the same card.
type NCCL struct{ api *C.psb_nccl }

// Communicator is one rank of an NCCL group. A communicator's calls wait for other ranks at most until a deadline.
// The calls hold no lock while they wait, so another goroutine may call Abort at any time.
type Communicator struct {
	nccl    *NCCL
	context *driver.Context

	mu sync.Mutex // held during each call of NCCL
	c  unsafe.Pointer
}

// Operation is the reduction of an all-reduce: ncclRedOp_t.
type Operation int

// The operations that psbench uses.
const (
	Sum     Operation = 0
	Average Operation = 4 // since NCCL 2.10
)

// float32Type is ncclFloat32 of ncclDataType_t.
const float32Type = 7

// ErrLate means that other ranks did not arrive before the deadline. ErrAborted means that Abort was called first.
var (
	ErrLate    = errors.New("other ranks did not do their part in time")
	ErrAborted = errors.New("the communicator was aborted")
)

// poll is the interval between checks of NCCL's progress.
const poll = 100 * time.Microsecond

// OpenNCCL loads the first NCCL that it finds by its names.
func OpenNCCL() (*NCCL, error) { return openNCCL(ncclNames) }

func openNCCL(names []string) (*NCCL, error) {
	api := (*C.psb_nccl)(C.calloc(1, C.sizeof_psb_nccl))
	if err := load("NCCL", names, func(name *C.char) *C.char { return C.psb_load_nccl(name, api) },
		func() error { return nil }); err != nil {
		C.free(unsafe.Pointer(api))
		return nil, err
	}
	return &NCCL{api: api}, nil
}

// Close frees the memory of OpenNCCL. All communicators must be closed or aborted. The library stays loaded.
func (n *NCCL) Close() { C.free(unsafe.Pointer(n.api)) }

// Version returns the version of NCCL, e.g. "2.21.5".
func (n *NCCL) Version() (string, error) {
	var version C.int
	if result := C.psb_nccl_version(n.api, &version); result != 0 {
		return "", n.failed("ncclGetVersion", result)
	}
	v := int(version)
	return fmt.Sprintf("%d.%d.%d", v/10000, v/100%100, v%100), nil
}

// UniqueID makes the name of a group. One rank sends it to the others.
func (n *NCCL) UniqueID() (id [128]byte, err error) {
	if result := C.psb_nccl_unique_id(n.api, unsafe.Pointer(&id)); result != 0 {
		return id, n.failed("ncclGetUniqueId", result)
	}
	return id, nil
}

// Join makes this process a member of a group of so many ranks, and waits until all ranks have joined.
func (n *NCCL) Join(c *driver.Context, id [128]byte, ranks, rank int, deadline time.Time) (*Communicator, error) {
	comm := &Communicator{nccl: n, context: c}
	result := C.psb_nccl_init(n.api, C.CUcontext(c.Handle()), &comm.c, C.int(ranks), unsafe.Pointer(&id), C.int(rank))
	result, err := comm.settle(result, deadline)
	if result != 0 {
		err = n.failed("ncclCommInitRankConfig", result)
	}
	if err != nil {
		_ = comm.Abort() // the first error is returned
		return nil, fmt.Errorf("rank %d of %d on %v: %w", rank, ranks, c, err)
	}
	return comm, nil
}

// AllReduce gives stream s an all-reduce of so many float32. Every rank must call it. send and receive may be the
// same memory. When it returns, the work is on the stream. The first call may wait for the other ranks' calls, at
// most until the deadline. Cost: 2 (ranks-1)/ranks of the bytes over the slowest link.
func (c *Communicator) AllReduce(s *driver.Stream, send, receive driver.Pointer, elements int, op Operation,
	deadline time.Time) error {
	if err := c.Err(); err != nil { // otherwise the call would return this error as its own
		return err
	}
	c.mu.Lock()
	if c.c == nil {
		c.mu.Unlock()
		return ErrAborted
	}
	result := C.psb_nccl_all_reduce(c.nccl.api, C.CUcontext(c.context.Handle()), c.c, C.CUdeviceptr(send),
		C.CUdeviceptr(receive),
		C.size_t(elements), float32Type, C.int(op), C.CUstream(s.Handle()))
	c.mu.Unlock()
	result, err := c.settle(result, deadline)
	if result != 0 {
		return c.nccl.failed(fmt.Sprintf("ncclAllReduce of %d elements on %v", elements, c.context), result)
	}
	return err
}

// settle waits until a call is no longer in progress and returns its result. Before that, neither the communicator
// nor its stream may be used.
func (c *Communicator) settle(result C.int, deadline time.Time) (C.int, error) {
	for result == C.PSB_IN_PROGRESS {
		var err error
		if result, err = c.state(); err != nil || result != C.PSB_IN_PROGRESS {
			return result, err
		}
		if time.Now().After(deadline) {
			return 0, ErrLate
		}
		time.Sleep(poll)
	}
	return result, nil
}

// state returns the communicator's current result.
func (c *Communicator) state() (state C.int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.c == nil {
		return 0, ErrAborted
	}
	if result := C.psb_nccl_async_error(c.nccl.api, c.c, &state); result != 0 {
		return 0, c.nccl.failed("ncclCommGetAsyncError", result)
	}
	return state, nil
}

// Err returns the first error since the group was made, including errors of work on streams.
func (c *Communicator) Err() error {
	state, err := c.state()
	if err != nil || state == 0 || state == C.PSB_IN_PROGRESS {
		return err
	}
	return c.nccl.failed(fmt.Sprintf("work of NCCL on %v", c.context), state)
}

// Close leaves the group once the work of all ranks is done. All ranks must call it. After the deadline or a
// failure, it leaves like Abort.
func (c *Communicator) Close(deadline time.Time) error {
	c.mu.Lock()
	if c.c == nil {
		c.mu.Unlock()
		return nil
	}
	result := C.psb_nccl_finalize(c.nccl.api, C.CUcontext(c.context.Handle()), c.c)
	c.mu.Unlock()
	result, err := c.settle(result, deadline)
	if result != 0 {
		err = c.nccl.failed("ncclCommFinalize", result)
	}
	if err != nil {
		_ = c.Abort() // the first error is returned
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.c == nil {
		return ErrAborted
	}
	result = C.psb_nccl_destroy(c.nccl.api, C.CUcontext(c.context.Handle()), c.c)
	c.c = nil
	if result != 0 {
		return c.nccl.failed("ncclCommDestroy", result)
	}
	return nil
}

// Abort leaves the group at once, even if its work would never end because another rank is gone. Further calls do
// nothing.
func (c *Communicator) Abort() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.c == nil {
		return nil
	}
	result := C.psb_nccl_abort(c.nccl.api, C.CUcontext(c.context.Handle()), c.c)
	c.c = nil
	if result != 0 && result != C.PSB_IN_PROGRESS {
		return c.nccl.failed("ncclCommAbort", result)
	}
	return nil
}

func (n *NCCL) failed(asked string, result C.int) error {
	if result == C.PSB_NO_CONTEXT {
		return fmt.Errorf("%s: the context cannot be made current", asked)
	}
	return fmt.Errorf("%s: %s (ncclResult_t %d)", asked, C.GoString(C.psb_nccl_error(n.api, result)), result)
}
