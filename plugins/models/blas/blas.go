// Package blas multiplies float32 matrices with the fastest library that the
// machine offers: OpenBLAS, MKL or BLIS, loaded at run time without cgo, or
// package native, which is compiled in and always works. Gonum is there too, to
// compare with.
package blas

import (
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/internal/quote"
)

// BLAS is one engine with a fixed number of threads. It serves one goroutine
// at a time.
type BLAS interface {
	// Gemm computes c = alpha * op(a) * op(b) + beta * c, where op transposes
	// a if transA is set, and b if transB is set. op(a) is [m, k], op(b) is
	// [k, n] and c is [m, n]; all are row-major, and lda, ldb and ldc are the
	// elements from one stored row to the next. With beta 0, c is only written.
	// It panics if a slice is too short for its matrix, as indexing does.
	Gemm(transA, transB bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32,
		c []float32, ldc int)
	// Info says what computes.
	Info() Info
}

// Info identifies an engine, in the words of the library itself.
type Info struct {
	Engine string // openblas, mkl, blis, native or gonum
	// Core is the kernel family, e.g. SkylakeX: a level of package simd for native, "go" for gonum, "unknown" for a
	// library that does not tell.
	Core    string
	Threads int    // threads that a multiplication may use
	Library string // shared library that was loaded; "" for what is compiled in
}

// Names of the engines that Open accepts.
const (
	Auto     = "auto" // the first of OpenBLAS, MKL and BLIS that is found, else Native
	OpenBLAS = "openblas"
	MKL      = "mkl"
	BLIS     = "blis"
	Native   = "native"
	Gonum    = "gonum"
)

var engines = []string{Auto, OpenBLAS, MKL, BLIS, Native, Gonum}

// Open returns the wanted engine, one of the names above, set to a number of
// threads; Info tells how many it took. The setting reaches every user of the
// same shared library in this process. An engine that is named but not found
// is an error.
func Open(want string, threads int) (BLAS, error) {
	if !slices.Contains(engines, want) {
		return nil, fmt.Errorf("blas engine %s is not known: choose one of %s", quote.String(want),
			strings.Join(engines, ", "))
	}
	if threads < 1 {
		return nil, fmt.Errorf("blas threads are %d but must be at least 1", threads)
	}
	switch want {
	case Native:
		return openNative(threads)
	case Gonum:
		return goBLAS{}, nil
	case Auto:
		for _, engine := range []string{OpenBLAS, MKL, BLIS} {
			if b, err := load(engine, threads); err == nil {
				return b, nil
			}
		}
		return openNative(threads)
	default:
		return load(want, threads)
	}
}

// prepare deals with what the engines treat differently: it checks that every
// slice holds its matrix, and computes c where there is nothing to multiply. It
// reports whether a multiplication is left to do.
func prepare(transA, transB bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32,
	c []float32, ldc int) bool {
	if transA {
		check("a", a, k, m, lda)
	} else {
		check("a", a, m, k, lda)
	}
	if transB {
		check("b", b, n, k, ldb)
	} else {
		check("b", b, k, n, ldb)
	}
	check("c", c, m, n, ldc)
	if m > 0 && n > 0 && k > 0 && alpha != 0 {
		return true
	}
	for i := range m {
		scale(beta, c[i*ldc:i*ldc+n])
	}
	return false
}

func check(name string, x []float32, rows, columns, stride int) {
	if rows < 0 || columns < 0 || stride < columns {
		panic(fmt.Sprintf("blas: matrix %s cannot be %dx%d with rows %d elements apart", name, rows, columns, stride))
	}
	if rows == 0 || columns == 0 {
		return
	}
	if need := (rows-1)*stride + columns; len(x) < need {
		panic(fmt.Sprintf("blas: matrix %s of %dx%d needs %d elements but holds %d", name, rows, columns, need, len(x)))
	}
}

func scale(beta float32, x []float32) {
	if beta == 0 {
		clear(x)
		return
	}
	for i := range x {
		x[i] *= beta
	}
}
