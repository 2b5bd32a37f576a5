//go:build nvidia

package kernels

import (
	"fmt"
	"os"

	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/cuda/library"
	"github.com/psbench/psbench/internal/quote"
)

// Variable is the environment variable that selects the implementation of matrix products. CuBLAS requires cuBLAS.
// Own selects the kernels of this package. If it is unset, psbench uses cuBLAS if it finds the library.
const (
	Variable = "PSBENCH_CUDA_GEMM"
	CuBLAS   = "cublas"
	Own      = "kernels"
)

// BLAS multiplies matrices on a stream: c = alpha op(a) op(b) + beta c, row-major, with the leading dimension of
// each. *library.CuBLAS implements it.
type BLAS interface {
	Sgemm(s *driver.Stream, transA, transB bool, m, n, k int, alpha float32, a driver.Pointer, lda int,
		b driver.Pointer, ldb int,
		beta float32, c driver.Pointer, ldc int) error
	// Release frees the resources for a stream.
	Release(s *driver.Stream) error
}

// checkChoice returns an error for an invalid value of Variable.
func checkChoice(chosen string) error {
	if chosen == "" || chosen == CuBLAS || chosen == Own {
		return nil
	}
	return fmt.Errorf("%s is %s but must be %s, %s or unset", Variable, quote.String(chosen), CuBLAS, Own)
}

// openBLAS opens the library for a value of Variable. A nil library means that the kernels multiply; why then gives
// the reason.
func openBLAS(chosen string, open func() (*library.CuBLAS, error)) (found *library.CuBLAS, why string, err error) {
	if err := checkChoice(chosen); err != nil {
		return nil, "", err
	}
	if chosen == Own {
		return nil, fmt.Sprintf("%s is %s", Variable, Own), nil
	}
	found, err = open()
	switch {
	case err == nil:
		return found, "", nil
	case chosen == CuBLAS:
		return nil, "", fmt.Errorf("%s is %s but there is %w", Variable, CuBLAS, err)
	default: // cuBLAS is optional
		return nil, err.Error(), nil
	}
}

// Products opens cuBLAS if Variable allows it. Only the first call has an effect. A queue calls it at its first
// product. A part that needs products calls it before training.
func (k *Kernels) Products() (err error) {
	k.opening.Lock()
	defer k.opening.Unlock()
	if k.opened {
		return nil
	}
	k.cublas, k.whyOwn, err = openBLAS(os.Getenv(Variable),
		func() (*library.CuBLAS, error) { return library.OpenCuBLAS(k.context) })
	k.opened = err == nil
	return err
}

// Multiplies returns the version of cuBLAS, or the reason why the kernels multiply. Multiplies returns "" before
// Products has succeeded.
func (k *Kernels) Multiplies() string {
	k.opening.Lock()
	defer k.opening.Unlock()
	switch {
	case !k.opened:
		return ""
	case k.cublas == nil:
		return "psbench's kernels: " + k.whyOwn
	}
	return "cublas " + k.cublas.Version()
}

// UseBLAS selects the library for the queue's later products; nil selects the kernels. Without this call, a queue
// uses cuBLAS if Kernels have it.
func (q *Queue) UseBLAS(b BLAS) { q.blas, q.chosen = b, true }

// chooses selects the queue's implementation of products, if that has not happened yet.
func (q *Queue) chooses() bool {
	if q.chosen || q.err != nil {
		return q.err == nil
	}
	if q.err = q.kernels.Products(); q.err == nil && q.kernels.cublas != nil {
		q.blas = q.kernels.cublas
	}
	q.chosen = q.err == nil
	return q.chosen
}

func (q *Queue) viaBLAS(p product) {
	q.done(q.blas.Sgemm(q.stream, p.transA, p.transB, p.m, p.n, p.k, 1, p.a, p.lda, p.b, p.ldb, 0, p.c, p.ldc))
	if p.bias == 0 || q.err != nil {
		return
	}
	// The product in c, whose rows have no gaps here, is the only part.
	q.addParts(p, p.c, 1)
}
