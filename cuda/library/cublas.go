//go:build nvidia

package library

// #include "shim.h"
//
// #cgo noescape psb_cublas_sgemm
// #cgo nocallback psb_cublas_sgemm
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/psbench/psbench/cuda/driver"
)

// cuBLASNames are the file names of cuBLAS, newest first.
var cuBLASNames = []string{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"}

// CuBLAS is NVIDIA's library for matrix products. Several goroutines may use it, each with its own stream.
type CuBLAS struct {
	api     *C.psb_cublas
	version C.int

	mu      sync.Mutex
	handles map[*driver.Stream]unsafe.Pointer // each stream has its own handle, because the handle owns the workspace
}

// OpenCuBLAS loads the first cuBLAS that works with the driver. To find out, it creates a handle on c and destroys
// it. A library that does not work stays loaded.
func OpenCuBLAS(c *driver.Context) (*CuBLAS, error) { return openCuBLAS(c, cuBLASNames) }

func openCuBLAS(c *driver.Context, names []string) (*CuBLAS, error) {
	b := &CuBLAS{api: (*C.psb_cublas)(C.calloc(1, C.sizeof_psb_cublas)), handles: map[*driver.Stream]unsafe.Pointer{}}
	try := func(name *C.char) *C.char { return C.psb_load_cublas(name, b.api) }
	if err := load("cuBLAS", names, try, func() error { return b.works(c) }); err != nil {
		C.free(unsafe.Pointer(b.api))
		return nil, err
	}
	return b, nil
}

// works returns an error if no handle can be created on c.
func (b *CuBLAS) works(c *driver.Context) error {
	handle, err := b.create(c, nil)
	if err != nil {
		return err
	}
	return b.destroy(c, handle)
}

// Sgemm gives stream s the product c = alpha op(a) op(b) + beta c, row-major. c is [m, n], op(a) is [m, k] and
// op(b) is [k, n]; lda, ldb and ldc are the distances between stored rows, in elements. The first product on a
// stream allocates memory of cuBLAS for the stream. Source: cublasSgemm in "cuBLAS Library". Cost: 2mnk operations.
func (b *CuBLAS) Sgemm(s *driver.Stream, transA, transB bool, m, n, k int, alpha float32, a driver.Pointer, lda int,
	bb driver.Pointer, ldb int, beta float32, c driver.Pointer, ldc int) error {
	h, err := b.handle(s)
	if err != nil {
		return err
	}
	status := C.psb_cublas_sgemm(b.api, C.CUcontext(s.Context().Handle()), h, flag(transA), flag(transB), C.int(m),
		C.int(n), C.int(k),
		C.float(alpha), C.CUdeviceptr(a), C.int(lda), C.CUdeviceptr(bb), C.int(ldb), C.float(beta), C.CUdeviceptr(c),
		C.int(ldc))
	if status == 0 {
		return nil
	}
	return cublasError(fmt.Sprintf("cublasSgemm of %d x %d x %d", m, n, k), s.Context(), status)
}

// Version returns the version of cuBLAS, e.g. "12.4.5".
func (b *CuBLAS) Version() string {
	// The number is 120405 since cuBLAS 11; patch level and minor version have two digits each.
	return fmt.Sprintf("%d.%d.%d", b.version/10000, b.version/100%100, b.version%100)
}

// Release frees cuBLAS's resources for a stream. Call it before the stream is destroyed.
func (b *CuBLAS) Release(s *driver.Stream) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	h, ok := b.handles[s]
	if !ok {
		return nil
	}
	delete(b.handles, s)
	return b.destroy(s.Context(), h)
}

// Close frees cuBLAS's resources for all streams. The library stays loaded.
func (b *CuBLAS) Close() error {
	b.mu.Lock()
	var left []*driver.Stream
	for s := range b.handles {
		left = append(left, s)
	}
	b.mu.Unlock()
	var err error
	for _, s := range left {
		err = errors.Join(err, b.Release(s))
	}
	C.free(unsafe.Pointer(b.api))
	return err
}

func (b *CuBLAS) handle(s *driver.Stream) (unsafe.Pointer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h, ok := b.handles[s]; ok {
		return h, nil
	}
	h, err := b.create(s.Context(), C.CUstream(s.Handle()))
	if err == nil {
		b.handles[s] = h
	}
	return h, err
}

// create creates a handle, for a stream unless that is nil.
func (b *CuBLAS) create(c *driver.Context, s C.CUstream) (handle unsafe.Pointer, err error) {
	if status := C.psb_cublas_create(b.api, C.CUcontext(c.Handle()), s, &handle, &b.version); status != 0 {
		return nil, cublasError("cublasCreate", c, status)
	}
	return handle, nil
}

func (b *CuBLAS) destroy(c *driver.Context, handle unsafe.Pointer) error {
	if c.Lost() { // the end of the process frees the handle
		return nil
	}
	if status := C.psb_cublas_destroy(b.api, C.CUcontext(c.Handle()), handle); status != 0 {
		return cublasError("cublasDestroy", c, status)
	}
	return nil
}

// flag returns cublasOperation_t: CUBLAS_OP_N or CUBLAS_OP_T.
func flag(transpose bool) C.int {
	if transpose {
		return 1
	}
	return 0
}

var cublasStatus = map[C.int]string{
	1: "it is not initialized", 3: "it cannot allocate what it needs", 7: "a value that it does not take",
	8: "it does not know this card", 11: "it cannot reach the memory", 13: "the kernel failed",
	14: "an error of its own",
	15: "it does not support that", 16: "a license is missing",
}

func cublasError(asked string, c *driver.Context, status C.int) error {
	if status == C.PSB_NO_CONTEXT {
		return fmt.Errorf("%s on %v: the context cannot be made current", asked, c)
	}
	text, ok := cublasStatus[status]
	if !ok {
		text = "an error that psbench does not know"
	}
	return fmt.Errorf("%s on %v: %s (cublasStatus_t %d)", asked, c, text, status)
}
