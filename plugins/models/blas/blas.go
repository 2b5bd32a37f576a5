// Package blas multiplies float32 matrices with the fastest library on the machine. The package loads OpenBLAS, MKL
// or BLIS at run time without cgo. Otherwise it uses package native, which is compiled in and always works. Gonum
// is available for comparison.
package blas

import (
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/internal/quote"
)

// BLAS is one engine with a fixed number of threads. BLAS serves one goroutine at a time.
type BLAS interface {
	// Gemm computes c = alpha * op(a) * op(b) + beta * c, where op transposes a if transA is set, and b if transB is
	// set. The matrices op(a) [m, k], op(b) [k, n] and c [m, n] are row-major. lda, ldb and ldc are the distances
	// between stored rows, in elements. With beta 0, Gemm does not read c. Gemm panics if a slice is too short for its
	// matrix.
	Gemm(transA, transB bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32,
		c []float32, ldc int)
	// Info describes the engine.
	Info() Info
}

// Info identifies an engine. The texts come from the library.
type Info struct {
	Engine string // openblas, mkl, blis, native or gonum
	// Core is the kernel family, e.g. SkylakeX. For native it is a level of package simd, and for gonum "go". Core is
	// "unknown" if a library does not report it.
	Core    string
	Threads int    // most threads of one multiplication
	Library string // loaded shared library; "" if the engine is compiled in
}

// Names of the engines that Open accepts.
const (
	Auto     = "auto" // OpenBLAS, MKL or BLIS, whichever is found first, otherwise Native
	OpenBLAS = "openblas"
	MKL      = "mkl"
	BLIS     = "blis"
	Native   = "native"
	Gonum    = "gonum"
)

var engines = []string{Auto, OpenBLAS, MKL, BLIS, Native, Gonum}

// Open returns the wanted engine, one of the names above, with a number of threads. Info reports how many threads
// the engine accepted. The setting affects every user of the same shared library in this process. Open returns an
// error if a named engine is not found.
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

// prepare handles cases in which the engines differ: it checks that every slice holds its matrix, and computes c if
// there is nothing to multiply. prepare reports whether a multiplication remains to be done.
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
