package blas

import (
	"github.com/psbench/psbench/internal/simd"
	"github.com/psbench/psbench/plugins/models/blas/native"
)

// nativeBLAS wraps package native, which is compiled in.
type nativeBLAS struct{ engine *native.Engine }

// openNative returns the engine with the instructions that this process uses.
func openNative(threads int) (BLAS, error) {
	level, err := simd.Chosen()
	if err != nil {
		return nil, err
	}
	return nativeBLAS{native.New(level, threads)}, nil
}

func (b nativeBLAS) Info() Info {
	return Info{Engine: Native, Core: b.engine.Level().String(), Threads: b.engine.Threads()}
}

func (b nativeBLAS) Gemm(transA, transB bool, m, n, k int, alpha float32, x []float32, lda int, y []float32, ldb int,
	beta float32, c []float32, ldc int) {
	if prepare(transA, transB, m, n, k, alpha, x, lda, y, ldb, beta, c, ldc) {
		b.engine.Gemm(transA, transB, m, n, k, alpha, x, lda, y, ldb, beta, c, ldc)
	}
}
