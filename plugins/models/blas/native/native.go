// Package native multiplies float32 matrices without C code. The kernels are in Go's assembly for AVX-512 and AVX2,
// and in Go elsewhere.
//
// The algorithm is from Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008). The
// loops have the order of BLIS (Van Zee and van de Geijn, 2015), transposed because c is row-major here. Vectors
// run along the rows of b and c; single numbers of a are broadcast over a vector. Products with few rows are bound
// by reading or writing one large matrix, so they use that matrix in place.
package native

import (
	"sync"
	"sync/atomic"

	"github.com/psbench/psbench/internal/simd"
)

// shareOfWorker is the number of multiplications that justifies another goroutine: waking a sleeping thread takes
// about 10 µs.
const shareOfWorker = 1 << 19

// Engine multiplies with up to a fixed number of threads. Engine serves one goroutine at a time. Each call starts
// the goroutines that it needs and waits for them, so none run between calls. Once the buffers are large enough, a
// call allocates nothing.
type Engine struct {
	level   simd.Level
	share   float64 // multiplications that justify another goroutine
	product product
	grid    grid
	next    atomic.Int32 // the next free rectangle of the grid
	workers []worker
	running sync.WaitGroup
}

// New returns an engine with at most threads goroutines, at least 1. The engine's kernels use the instructions of
// level, which this machine must support.
func New(level simd.Level, threads int) *Engine {
	e := &Engine{level: level, share: shareOfWorker, workers: make([]worker, threads)}
	for i := range e.workers {
		w := &e.workers[i]
		w.kernels = kernelsOf(level)
		w.edge = make([]float32, w.rows*w.columns)
		// The method value is bound once, because a go statement with a method allocates.
		w.start = func() {
			defer e.running.Done()
			e.work(w)
		}
	}
	return e
}

// Level is the instruction level of the kernels.
func (e *Engine) Level() simd.Level { return e.level }

// Threads is the largest number of goroutines for one product.
func (e *Engine) Threads() int { return len(e.workers) }

// Gemm computes c = alpha * op(a) * op(b) + beta * c, where op transposes a if transA is set, and b if transB is
// set. The matrices op(a) [m, k], op(b) [k, n] and c [m, n] are row-major. lda, ldb and ldc are the
// distances between stored rows, in elements. m, n and k are at least 1, and each slice holds its matrix. With beta
// 0, Gemm does not read c.
func (e *Engine) Gemm(transA, transB bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int,
	beta float32, c []float32, ldc int) {
	e.product = product{transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc}
	workers := min(len(e.workers), 1+int(float64(m)*float64(n)*float64(k)/e.share))
	e.grid = gridOf(m, n, workers, e.workers[0].columns)
	e.next.Store(0)
	e.running.Add(workers)
	for i := 1; i < workers; i++ {
		go e.workers[i].start()
	}
	e.workers[0].start()
	e.running.Wait()
	e.product = product{} // drops the references to the caller's matrices
}

// work computes rectangles until none is left.
func (e *Engine) work(w *worker) {
	for {
		i := int(e.next.Add(1)) - 1
		if i >= e.grid.down*e.grid.across {
			return
		}
		top, left := i/e.grid.across*e.grid.height, i%e.grid.across*e.grid.width
		w.multiply(e.product.rectangle(top, min(top+e.grid.height, e.product.m), left,
			min(left+e.grid.width, e.product.n)))
	}
}
