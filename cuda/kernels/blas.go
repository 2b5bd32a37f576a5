//go:build nvidia

package kernels

import (
	"fmt"
	"os"

	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/cuda/library"
	"github.com/psbench/psbench/internal/quote"
)

// Variable is the environment variable that chooses what multiplies matrices: CuBLAS, which must be there
// then, or Own, the kernels of this package. Unset it is cuBLAS where that is found.
const (
	Variable = "PSBENCH_CUDA_GEMM"
	CuBLAS   = "cublas"
	Own      = "kernels"
)

// BLAS multiplies matrices on a stream: c = alpha op(a) op(b) + beta c, row-major, with the leading
// dimensions of each. *library.CuBLAS is one.
type BLAS interface {
	Sgemm(s *driver.Stream, transA, transB bool, m, n, k int, alpha float32, a driver.Pointer, lda int,
		b driver.Pointer, ldb int,
		beta float32, c driver.Pointer, ldc int) error
	// Release gives back what it has for a stream.
	Release(s *driver.Stream) error
}

// checkChoice says that a value of Variable is none.
func checkChoice(chosen string) error {
	if chosen == "" || chosen == CuBLAS || chosen == Own {
		return nil
	}
	return fmt.Errorf("%s is %s but must be %s, %s or unset", Variable, quote.String(chosen), CuBLAS, Own)
}

// openBLAS is what chosen, a value of Variable, asks for, by open; nil stands for the kernels, and then why
// says for what reason they multiply.
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
	default: // it need not be there
		return nil, err.Error(), nil
	}
}

// Products opens cuBLAS where Variable asks for it, the first time. Queues do so with their first product, too; a part
// that makes some calls it before it trains.
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

// Multiplies says what multiplies matrices: the version of cuBLAS, or why it is the kernels; "" where nothing does.
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

// UseBLAS has a library make the queue's products from now on, or with nil the kernels. Without it a queue takes
// cuBLAS where Kernels have it.
func (q *Queue) UseBLAS(b BLAS) { q.blas, q.chosen = b, true }

// chooses has the queue know what makes its products.
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
	// What stands in c, whose rows have no gaps here, is the one part.
	q.addParts(p, p.c, 1)
}
