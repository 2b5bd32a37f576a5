package models

import (
	gonumblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/psbench/psbench/plugins/models/blas"
)

// graphBLAS lets gorgonia multiply matrices with the model's BLAS engine. Gonum implements the rest of the
// interface, which the graphs here do not use.
type graphBLAS struct {
	gonum.Implementation
	engine blas.BLAS
}

// Sgemm computes c = alpha op(a) op(b) + beta c, where op transposes a matrix if tA or tB says so.
func (g graphBLAS) Sgemm(tA, tB gonumblas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32,
	ldb int, beta float32, c []float32, ldc int) {
	g.engine.Gemm(tA != gonumblas.NoTrans, tB != gonumblas.NoTrans, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}
