package blas

import (
	"slices"
	"strings"
)

// OpenBLAS copies both matrices into an order of its own before it multiplies, which
// for few rows costs more than the product. Its kernels for AVX-512 leave that out
// where m*n*k is at most a million. A product with few rows is bound by reading, or
// writing, one large matrix. So psbench multiplies pieces of this matrix that are small enough.
// For a layer of 1024 x 1024 and 10 rows, on one core, the output then takes 0.36
// ms instead of 0.92, the input's gradient 0.42 instead of 0.74 and the weight's 0.41
// instead of 0.49. From about 30 rows on it gains nothing.
const (
	smallProduct = 1_000_000 // m*n*k that is multiplied where it lies
	outputPiece  = 16        // output columns of a piece, but the last, are a multiple of it
	inputPiece   = 16        // summands of a piece
	weightPiece  = 8         // rows of a weight's gradient in a piece
	// The most rows of a batch for which pieces pay.
	fewForInput, fewForWeight = 20, 16
	// With more threads than this the library is faster on the whole.
	fewThreads = 2
)

var smallKernels = []string{"SkylakeX", "Cooperlake", "SapphireRapids"}

// pieces is an engine with those kernels.
type pieces struct{ BLAS }

// inPieces wraps an engine that gains from it.
func inPieces(b BLAS) BLAS {
	info := b.Info()
	if info.Engine == OpenBLAS && info.Threads <= fewThreads &&
		slices.ContainsFunc(smallKernels, func(core string) bool { return strings.EqualFold(core, info.Core) }) {
		return pieces{b}
	}
	return b
}

// Gemm cuts n, k or m, whichever belongs to the large matrix.
func (p pieces) Gemm(transA, transB bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int,
	beta float32, c []float32, ldc int) {
	switch {
	case m*n*k <= smallProduct || m == 0 || n == 0 || k == 0:
	case !transA && transB && m*k*outputPiece <= smallProduct: // y = x Wᵀ
		step := smallProduct / (m * k) / outputPiece * outputPiece
		for from := 0; from < n; from += step {
			p.BLAS.Gemm(transA, transB, m, min(step, n-from), k, alpha, a, lda, b[from*ldb:], ldb, beta, c[from:], ldc)
		}
		return
	case !transA && !transB && m <= fewForInput && m*n*inputPiece <= smallProduct: // dx = dy W
		for from := 0; from < k; from += inputPiece {
			p.BLAS.Gemm(transA, transB, m, n, min(inputPiece, k-from), alpha, a[from:], lda, b[from*ldb:], ldb, beta,
				c, ldc)
			beta = 1
		}
		return
	case transA && !transB && k <= fewForWeight && weightPiece*n*k <= smallProduct: // dW = dyᵀ x
		for from := 0; from < m; from += weightPiece {
			p.BLAS.Gemm(transA, transB, min(weightPiece, m-from), n, k, alpha, a[from:], lda, b, ldb, beta,
				c[from*ldc:], ldc)
		}
		return
	}
	p.BLAS.Gemm(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}
