//go:build nvidia

package kernels

import "github.com/psbench/psbench/cuda/driver"

// BLAS multiplies matrices on a stream, as cuBLAS does: c = op(a) op(b) + beta c, row-major, with the
// leading dimensions of each.
type BLAS interface {
	Sgemm(s *driver.Stream, transA, transB bool, m, n, k int, alpha float32, a driver.Pointer, lda int, b driver.Pointer, ldb int,
		beta float32, c driver.Pointer, ldc int) error
}

// UseBLAS has a library make the products from now on, or with nil the kernels, which is what a queue begins
// with.
func (q *Queue) UseBLAS(b BLAS) { q.blas = b }

func (q *Queue) viaBLAS(p product) {
	q.done(q.blas.Sgemm(q.stream, p.transA, p.transB, p.m, p.n, p.k, 1, p.a, p.lda, p.b, p.ldb, 0, p.c, p.ldc))
	if p.bias == 0 || q.err != nil {
		return
	}
	q.args.Reset()
	q.args.Pointer(p.c)
	q.args.Pointer(p.c) // one part, which is what stands there
	for _, v := range [...]int{1, p.m, p.n, p.ldc} {
		q.u32(v)
	}
	q.args.Pointer(p.bias)
	q.flag(p.relu)
	q.launch(gemmParts, line(blocksFor(p.m*p.n, blockThreads)), threads)
}
