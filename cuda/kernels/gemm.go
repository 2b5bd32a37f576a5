//go:build nvidia

package kernels

import (
	"fmt"

	"github.com/psbench/psbench/cuda/driver"
)

const (
	// fewRows and fewColumns are the most rows or columns for which a product uses the kernels for few. These kernels
	// read the larger matrix once for every 16 rows or columns.
	fewRows, fewColumns = 32, 16
	tile, tileThreads   = 64, 128 // rows and columns of a block's tile, and its threads, in the kernel for many
	enoughTiles         = 128     // if there are fewer tiles, the inner dimension is cut
	leastDepth          = 128     // smallest depth of a part
	workspaceElements   = 1 << 20
)

// Gemm computes c[m,n] = op(a) op(b), row-major, where op(a) is [m,k] and op(b) is [k,n]: a is [m,k], or [k,m] with
// transA; b is [k,n], or [n,k] with transB. The order of an element's sum depends only on the sizes. An element
// differs from the exact value by at most k roundings of float32. With cuBLAS (see Variable), order and error are
// those of cuBLAS. c must overlap neither a nor b.
//
// Products of up to 32 rows or 16 columns use the kernels for few rows, which read the larger matrix once for every
// 16 rows or columns. Other products use tiles of 64 by 64 and move 4 k bytes for every 32 elements of c. If there
// are fewer than 128 tiles and k is at least 256, k is cut into parts that run in parallel. A second launch adds
// the parts in order. The parts need 4 MiB, which the queue allocates at its first such product.
func (q *Queue) Gemm(c, a, b []float32, m, n, k int, transA, transB bool) {
	q.GemmStrided(Matrix{c, n}, Matrix{a, width(k, m, transA)}, Matrix{b, width(n, k, transB)}, m, n, k, transA, transB)
}

// Linear computes y = x wᵀ + bias, for x [rows, in], w [out, in] and bias [out]. With relu set, a ReLU follows.
// Linear equals Gemm and AddBias but saves a launch.
func (q *Queue) Linear(y, x, w, bias []float32, rows, in, out int, relu bool) {
	if q.equal("Linear", "bias", len(bias), out) {
		p := product{m: rows, n: out, k: in, transB: true, bias: pointer(bias), relu: relu}
		q.product("Linear", p, Matrix{y, out}, Matrix{x, in}, Matrix{w, in})
	}
}

// Matrix is a matrix whose rows begin Stride elements apart.
type Matrix struct {
	Data   []float32
	Stride int
}

// GemmStrided does the same as Gemm for matrices whose rows are parts of longer rows.
func (q *Queue) GemmStrided(c, a, b Matrix, m, n, k int, transA, transB bool) {
	q.product("Gemm", product{m: m, n: n, k: k, transA: transA, transB: transB}, c, a, b)
}

// width returns the number of columns of a stored matrix, which may be transposed.
func width(columns, rows int, transposed bool) int {
	if transposed {
		return rows
	}
	return columns
}

// product is a product with checked arguments.
type product struct {
	c, a, b        driver.Pointer
	ldc, lda, ldb  int
	m, n, k        int
	transA, transB bool
	bias           driver.Pointer // 0 if there is none
	relu           bool
}

func (q *Queue) product(call string, p product, c, a, b Matrix) {
	m, n, k := p.m, p.n, p.k
	if q.err != nil || !q.atLeast(call, "m", m, 0) || !q.atLeast(call, "n", n, 0) || !q.atLeast(call, "k", k, 0) ||
		m == 0 || n == 0 {
		return
	}
	if !q.holds(call, "c", c, m, n) || !q.holds(call, "a", a, width(m, k, p.transA), width(k, m, p.transA)) ||
		!q.holds(call, "b", b, width(k, n, p.transB), width(n, k, p.transB)) {
		return
	}
	for _, v := range [...]int{m, n, k, c.Stride, a.Stride, b.Stride} {
		if !q.atMost(call, "a dimension", v, 1<<31-1) {
			return
		}
	}
	p.c, p.a, p.b = pointer(c.Data), pointer(a.Data), pointer(b.Data)
	p.ldc, p.lda, p.ldb = c.Stride, a.Stride, b.Stride
	if !q.chooses() {
		return
	}
	switch {
	case q.blas != nil && k > 0:
		q.viaBLAS(p)
	case m <= fewRows:
		q.few(p, false)
	case n <= fewColumns:
		q.few(p, true)
	default:
		q.tiled(p)
	}
}

// holds reports whether a matrix has so many rows and columns.
func (q *Queue) holds(call, what string, m Matrix, rows, columns int) bool {
	if q.err == nil && m.Stride < columns {
		q.err = fmt.Errorf("%s has rows of %s that begin %d elements apart but have %d elements each", call, what,
			m.Stride, columns)
	}
	return q.err == nil && (rows == 0 || columns == 0 || q.atLeast(call, what, len(m.Data), (rows-1)*m.Stride+columns))
}

// few computes a product of few rows. With swapped set, it computes a product of few columns as the product of the
// transposed matrices in reverse order.
func (q *Queue) few(p product, swapped bool) {
	ci, cj, ai, ap := p.ldc, 1, p.lda, 1
	if p.transA {
		ai, ap = 1, p.lda
	}
	fours := 0
	if swapped {
		ci, cj = 1, p.ldc
		ai, ap = 1, p.ldb // strides of bᵀ [n,k]
		if p.transB {
			ai, ap = p.ldb, 1
		}
		p.m, p.n = p.n, p.m
		p.a, p.b, p.ldb = p.b, p.a, p.lda
		p.transB = !p.transA
	}
	if ap == 1 && inFours(ai, p.a) {
		fours |= 1
	}
	if inFours(p.ldb, p.b) {
		fours |= 2
	}
	q.args.Reset()
	q.args.Pointer(p.c)
	q.args.Pointer(p.a)
	q.args.Pointer(p.b)
	q.u32(p.m)
	q.u32(p.n)
	q.u32(p.k)
	for _, stride := range [...]int{ci, cj, ai, ap} {
		q.args.U64(uint64(stride)) // #nosec G115 -- not negative
	}
	q.u32(p.ldb)
	q.args.Pointer(p.bias)
	q.flag(swapped)
	q.flag(p.relu)
	q.u32(fours)
	groups := uint32((p.m + 15) / 16) // #nosec G115 -- at most 2
	if p.transB {
		q.launch(gemmFewT, [3]uint32{uint32((p.n + 3) / 4), groups, 1}, [3]uint32{128, 1, 1}) // #nosec G115 -- below 2^31
	} else {
		q.launch(gemmFewN, [3]uint32{uint32((p.n + 7) / 8), groups, 1}, threads) // #nosec G115 -- below 2^31
	}
}

// tiled computes a product in tiles. If there are few tiles, it cuts k into parts.
func (q *Queue) tiled(p product) {
	across, down := (p.n+tile-1)/tile, (p.m+tile-1)/tile
	tiles := across * down
	if !q.atMost("Gemm", "tiles of the product", tiles, 1<<31-1) {
		return
	}
	parts := 1
	if tiles < enoughTiles {
		parts = max(1, min((enoughTiles+tiles-1)/tiles, p.k/leastDepth, workspaceElements/(p.m*p.n)))
	}
	depth := ((p.k+parts-1)/parts + 3) &^ 3
	parts = max(1, (p.k+depth-1)/max(1, depth))
	out, ldc, bias, relu := p.c, p.ldc, p.bias, p.relu
	if parts > 1 {
		if !q.cuts() {
			return
		}
		out, ldc, bias, relu = q.workspace, p.n, 0, false
	}
	fours := 0
	for bit, m := range [...]struct {
		at driver.Pointer
		ld int
	}{{p.a, p.lda}, {p.b, p.ldb}, {out, ldc}} {
		if inFours(m.ld, m.at) && (parts == 1 || p.m*p.n%4 == 0) {
			fours |= 1 << bit
		}
	}
	q.args.Reset()
	q.args.Pointer(out)
	q.args.Pointer(p.a)
	q.args.Pointer(p.b)
	for _, v := range [...]int{p.m, p.n, p.k, ldc, p.lda, p.ldb, depth} {
		q.u32(v)
	}
	q.args.U64(uint64(p.m * p.n)) // #nosec G115 -- not negative
	q.args.Pointer(bias)
	q.flag(relu)
	q.u32(fours)
	k := gemmNN
	switch {
	case p.transA && p.transB:
		k = gemmTT
	case p.transA:
		k = gemmTN
	case p.transB:
		k = gemmNT
	}
	q.launch(k, [3]uint32{uint32(tiles), 1, uint32(parts)}, [3]uint32{tileThreads, 1, 1}) // #nosec G115 -- checked
	if parts > 1 {
		q.addParts(p, q.workspace, parts)
	}
}

// cuts reports whether there is a workspace. The first product that needs it allocates it.
func (q *Queue) cuts() bool {
	if q.workspace == 0 {
		if q.workspace, q.err = q.kernels.context.Alloc(4 * workspaceElements); q.err != nil {
			q.err = fmt.Errorf("the workspace of products: %w", q.err)
		}
	}
	return q.err == nil
}

// addParts computes c = the sum of parts + bias, and an optional ReLU. The parts lie one after the other, starting
// at from.
func (q *Queue) addParts(p product, from driver.Pointer, parts int) {
	q.args.Reset()
	q.args.Pointer(p.c)
	q.args.Pointer(from)
	for _, v := range [...]int{parts, p.m, p.n, p.ldc} {
		q.u32(v)
	}
	q.args.Pointer(p.bias)
	q.flag(p.relu)
	q.launch(gemmParts, line(blocksFor(p.m*p.n, blockThreads)), threads)
}
