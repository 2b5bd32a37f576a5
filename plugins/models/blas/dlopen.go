//go:build !nodlopen && linux && (amd64 || arm64)

package blas

import (
	"cmp"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// sharedLibrary describes where to find an engine and how to query it.
type sharedLibrary struct {
	sonames []string
	// configure sets the thread count of a loaded library. configure returns the kernel family and the thread count
	// that the library then uses.
	configure func(handle uintptr, threads int) (core string, got int, err error)
}

var sharedLibraries = map[string]sharedLibrary{
	OpenBLAS: {
		sonames:   []string{"libopenblas.so.0", "libopenblas.so"},
		configure: configureOpenBLAS,
	},
	MKL: {
		sonames:   []string{"libmkl_rt.so", "libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so.1"},
		configure: configureMKL,
	},
	BLIS: {
		sonames:   []string{"libblis.so.4", "libblis.so.3", "libblis.so.2", "libblis.so"},
		configure: configureBLIS,
	},
}

// load opens the first working shared library of an engine.
func load(engine string, threads int) (BLAS, error) {
	library := sharedLibraries[engine]
	var tried []string
	for _, soname := range library.sonames {
		l, err := library.open(soname, threads)
		if err == nil {
			l.info.Engine = engine
			return inPieces(l), nil
		}
		reason := strings.TrimPrefix(err.Error(), soname+": ")
		tried = append(tried, soname+": "+cmp.Or(reason, "cannot be loaded"))
	}
	return nil, fmt.Errorf(
		"blas engine %s was not found (%s): install it, name its folder in LD_LIBRARY_PATH, or set blas to auto",
		engine, strings.Join(tried, "; "))
}

func (s sharedLibrary) open(soname string, threads int) (*loaded, error) {
	// purego asks dlerror for the reason of a failure, and dlerror reports only failures of the same thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	handle, err := purego.Dlopen(soname, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	sgemm, err := purego.Dlsym(handle, "sgemm_")
	if err != nil {
		return nil, fmt.Errorf("there is no sgemm_ in it: %w", err)
	}
	core, got, err := s.configure(handle, threads)
	if err != nil {
		return nil, err
	}
	return &loaded{sgemm: sgemm, info: Info{Core: core, Threads: got, Library: soname}}, nil
}

func configureOpenBLAS(handle uintptr, threads int) (string, int, error) {
	var (
		setThreads func(int32)
		getThreads func() int32
		coreName   func() string
	)
	err := bind(handle, map[string]any{
		"openblas_set_num_threads": &setThreads,
		"openblas_get_num_threads": &getThreads,
		"openblas_get_corename":    &coreName,
	})
	if err != nil {
		return "", 0, err
	}
	setThreads(int32(threads)) // #nosec G115 -- a count of threads
	return coreName(), int(getThreads()), nil
}

func configureMKL(handle uintptr, threads int) (string, int, error) {
	var (
		setLayer   func(int32) int32
		setThreads func(int32)
		getThreads func() int32
	)
	err := bind(handle, map[string]any{
		"MKL_Set_Threading_Layer": &setLayer,
		"MKL_Set_Num_Threads":     &setThreads,
		"MKL_Get_Max_Threads":     &getThreads,
	})
	if err != nil {
		return "", 0, err
	}
	if threads == 1 {
		// The threaded layers need an OpenMP runtime. MKL exits the process if that runtime is missing.
		const sequential = 1
		setLayer(sequential)
	}
	setThreads(int32(threads)) // #nosec G115 -- a count of threads
	return "unknown", int(getThreads()), nil
}

func configureBLIS(handle uintptr, threads int) (string, int, error) {
	var (
		setThreads func(int)
		getThreads func() int
		archID     func() int32
		archName   func(int32) string
	)
	err := bind(handle, map[string]any{
		"bli_thread_set_num_threads": &setThreads,
		"bli_thread_get_num_threads": &getThreads,
		"bli_arch_query_id":          &archID,
		"bli_arch_string":            &archName,
	})
	if err != nil {
		return "", 0, err
	}
	setThreads(threads)
	return archName(archID()), getThreads(), nil
}

// bind makes each Go function pointer call the C function of the same name.
func bind(handle uintptr, functions map[string]any) error {
	for name, pointer := range functions {
		symbol, err := purego.Dlsym(handle, name)
		if err != nil {
			return err
		}
		purego.RegisterFunc(pointer, symbol)
	}
	return nil
}

// loaded calls the Fortran sgemm of a shared library. All arguments are pointers, so a call needs no reflection. A
// call allocates nothing, because loaded keeps the argument list.
type loaded struct {
	sgemm uintptr
	info  Info
	args  arguments
	list  [13]uintptr // the addresses of args' fields and of the matrices
}

// arguments holds the values that the list points to. The 64-bit integers also read correctly as 32-bit integers on
// a little-endian machine, so libraries with either integer width work.
type arguments struct {
	transA, transB         byte
	m, n, k, lda, ldb, ldc int64
	alpha, beta            float32
	// a, b and c keep the matrices alive and on the heap, where they do not move, while only the list refers to them.
	a, b, c *float32
}

func (l *loaded) Info() Info { return l.info }

// Gemm passes the operands swapped. A row-major matrix is its transpose in Fortran's column-major order, and cᵀ =
// op(b)ᵀ op(a)ᵀ.
func (l *loaded) Gemm(transA, transB bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int,
	beta float32, c []float32, ldc int) {
	if !prepare(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		return
	}
	l.args = arguments{
		transA: letter(transA), transB: letter(transB),
		m: int64(m), n: int64(n), k: int64(k),
		lda: int64(lda), ldb: int64(ldb), ldc: int64(ldc),
		alpha: alpha, beta: beta,
		a: &a[0], b: &b[0], c: &c[0],
	}
	p := &l.args
	l.list = [...]uintptr{
		uintptr(unsafe.Pointer(&p.transB)), uintptr(unsafe.Pointer(&p.transA)),
		uintptr(unsafe.Pointer(&p.n)), uintptr(unsafe.Pointer(&p.m)), uintptr(unsafe.Pointer(&p.k)),
		uintptr(unsafe.Pointer(&p.alpha)),
		uintptr(unsafe.Pointer(p.b)), uintptr(unsafe.Pointer(&p.ldb)),
		uintptr(unsafe.Pointer(p.a)), uintptr(unsafe.Pointer(&p.lda)),
		uintptr(unsafe.Pointer(&p.beta)),
		uintptr(unsafe.Pointer(p.c)), uintptr(unsafe.Pointer(&p.ldc)),
	}
	purego.SyscallN(l.sgemm, l.list[:]...)
}

func letter(transposed bool) byte {
	if transposed {
		return 'T'
	}
	return 'N'
}
