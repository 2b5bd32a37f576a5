//go:build nvidia

package library

// #include "shim.h"
//
// #cgo noescape psb_nccl_all_reduce
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/psbench/psbench/cuda/driver"
)

// ncclNames are the names of NCCL. It has had one soname since 2015.
var ncclNames = []string{"libnccl.so.2", "libnccl.so"}

// NCCL is NVIDIA's library of collectives between cards. It refuses two ranks on one card.
type NCCL struct{ api *C.psb_nccl }

// Communicator is one rank of a group of NCCL.
type Communicator struct {
	nccl    *NCCL
	context *driver.Context
	c       unsafe.Pointer
}

// Operation is what an all-reduce makes of the values of all ranks: ncclRedOp_t.
type Operation int

// The operations that psbench asks for.
const (
	Sum     Operation = 0
	Average Operation = 4 // since NCCL 2.10
)

// float32Type is ncclFloat32 of ncclDataType_t.
const float32Type = 7

// OpenNCCL loads NCCL by the first of its names that is there.
func OpenNCCL() (*NCCL, error) { return openNCCL(ncclNames) }

func openNCCL(names []string) (*NCCL, error) {
	api := (*C.psb_nccl)(C.calloc(1, C.sizeof_psb_nccl))
	if err := load("NCCL", names, func(name *C.char) *C.char { return C.psb_load_nccl(name, api) }, func() error { return nil }); err != nil {
		C.free(unsafe.Pointer(api))
		return nil, err
	}
	return &NCCL{api: api}, nil
}

// Close gives back what OpenNCCL took; all communicators must be destroyed. The library stays loaded.
func (n *NCCL) Close() { C.free(unsafe.Pointer(n.api)) }

// Version is that of NCCL, e.g. "2.21.5".
func (n *NCCL) Version() (string, error) {
	var version C.int
	if result := C.psb_nccl_version(n.api, &version); result != 0 {
		return "", n.failed("ncclGetVersion", result)
	}
	v := int(version)
	if v < 10000 { // until 2.8: 2804
		return fmt.Sprintf("%d.%d.%d", v/1000, v/100%10, v%100), nil
	}
	return fmt.Sprintf("%d.%d.%d", v/10000, v/100%100, v%100), nil
}

// UniqueID makes the name of a group, which one of its ranks tells the others.
func (n *NCCL) UniqueID() (id [128]byte, err error) {
	if result := C.psb_nccl_unique_id(n.api, unsafe.Pointer(&id)); result != 0 {
		return id, n.failed("ncclGetUniqueId", result)
	}
	return id, nil
}

// Join makes this process rank of a group of so many ranks, and waits until all have joined.
func (n *NCCL) Join(c *driver.Context, id [128]byte, ranks, rank int) (*Communicator, error) {
	comm := &Communicator{nccl: n, context: c}
	result := C.psb_nccl_init(n.api, C.CUcontext(c.Handle()), &comm.c, C.int(ranks), unsafe.Pointer(&id), C.int(rank))
	if result != 0 {
		return nil, n.failed(fmt.Sprintf("ncclCommInitRank of rank %d of %d on %v", rank, ranks, c), result)
	}
	return comm, nil
}

// AllReduce gives stream s the all-reduce of so many float32, which every rank must do; send and
// receive may be one. Cost: 2 (ranks-1)/ranks of the bytes over the slowest link.
func (c *Communicator) AllReduce(s *driver.Stream, send, receive driver.Pointer, elements int, op Operation) error {
	result := C.psb_nccl_all_reduce(c.nccl.api, C.CUcontext(c.context.Handle()), c.c, C.CUdeviceptr(send), C.CUdeviceptr(receive),
		C.size_t(elements), float32Type, C.int(op), C.CUstream(s.Handle()))
	if result == 0 {
		return nil
	}
	return c.nccl.failed(fmt.Sprintf("ncclAllReduce of %d elements on %v", elements, c.context), result)
}

// Err is what went wrong since the group was made, in work that was given to a stream.
func (c *Communicator) Err() error {
	var failed C.int
	if result := C.psb_nccl_async_error(c.nccl.api, c.c, &failed); result != 0 {
		return c.nccl.failed("ncclCommGetAsyncError", result)
	}
	if failed != 0 {
		return c.nccl.failed(fmt.Sprintf("work of NCCL on %v", c.context), failed)
	}
	return nil
}

// Destroy leaves the group once its work is done.
func (c *Communicator) Destroy() error {
	if result := C.psb_nccl_destroy(c.nccl.api, C.CUcontext(c.context.Handle()), c.c); result != 0 {
		return c.nccl.failed("ncclCommDestroy", result)
	}
	return nil
}

// Abort leaves the group at once, also where its work never ends since another rank is gone.
func (c *Communicator) Abort() error {
	if result := C.psb_nccl_abort(c.nccl.api, C.CUcontext(c.context.Handle()), c.c); result != 0 {
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
