//go:build nvidia

package kernels

import (
	"fmt"
	"os"

	"github.com/psbench/psbench/cuda/driver"
	"github.com/psbench/psbench/cuda/library"
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
	Sgemm(s *driver.Stream, transA, transB bool, m, n, k int, alpha float32, a driver.Pointer, lda int, b driver.Pointer, ldb int,
		beta float32, c driver.Pointer, ldc int) error
	// Release gives back what it has for a stream.
	Release(s *driver.Stream) error
}

// openBLAS is what chosen, a value of Variable, asks for; nil stands for the kernels.
func openBLAS(chosen string) (*library.CuBLAS, error) {
	switch chosen {
	case Own:
		return nil, nil
	case "":
		found, err := library.OpenCuBLAS()
		if err != nil { // it need not be there
			return nil, nil //nolint:nilerr // as said
		}
		return found, nil
	case CuBLAS:
		found, err := library.OpenCuBLAS()
		if err != nil {
			return nil, fmt.Errorf("%s is %s: %w", Variable, CuBLAS, err)
		}
		return found, nil
	default:
		return nil, fmt.Errorf("%s is %q but must be %s, %s or unset", Variable, chosen, CuBLAS, Own)
	}
}

func (k *Kernels) openBLAS() (err error) {
	k.cublas, err = openBLAS(os.Getenv(Variable))
	return err
}

// CuBLAS is what multiplies matrices, nil if the kernels do.
func (k *Kernels) CuBLAS() *library.CuBLAS { return k.cublas }

// UseBLAS has a library make the queue's products from now on, or with nil the kernels. A queue begins with
// cuBLAS where Kernels have it.
func (q *Queue) UseBLAS(b BLAS) { q.blas = b }

func (q *Queue) viaBLAS(p product) {
	q.done(q.blas.Sgemm(q.stream, p.transA, p.transB, p.m, p.n, p.k, 1, p.a, p.lda, p.b, p.ldb, 0, p.c, p.ldc))
	if p.bias == 0 || q.err != nil {
		return
	}
	// What stands in c, whose rows have no gaps here, is the one part.
	q.addParts(p, p.c, 1)
}
