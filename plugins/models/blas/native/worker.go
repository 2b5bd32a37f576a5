package native

// product is one multiplication. The fields are the arguments of Gemm.
type product struct {
	transA, transB bool
	m, n, k        int
	alpha          float32
	a              []float32
	lda            int
	b              []float32
	ldb            int
	beta           float32
	c              []float32
	ldc            int
}

// rectangle returns the product that computes some rows and columns of c.
func (p product) rectangle(top, bottom, left, right int) product {
	p.a = p.a[offset(!p.transA, top, p.lda):]
	p.b = p.b[offset(p.transB, left, p.ldb):]
	p.c = p.c[top*p.ldc+left:]
	p.m, p.n = bottom-top, right-left
	return p
}

// summands returns the product of some columns of op(a) with the matching rows of op(b). All but the first such
// product add to c.
func (p product) summands(from, to int) product {
	p.a = p.a[offset(p.transA, from, p.lda):]
	p.b = p.b[offset(!p.transB, from, p.ldb):]
	p.k = to - from
	if from > 0 {
		p.beta = 1
	}
	return p
}

// offset returns the index at which row or column i begins.
func offset(row bool, i, stride int) int {
	if row {
		return i * stride
	}
	return i
}

// The block sizes suit caches of 32 KiB and 1 MiB.
const (
	blockRows    = 2048 // rows of a that are packed at once
	blockColumns = 256  // columns of b; a block of this width and blockDepth fills half of the second-level cache
	blockDepth   = 512  // summands; this many of a tile's rows of a stay in the first-level cache
	dotDepth     = 2048 // summands of a dot product; few rows of this length stay in the second-level cache
	// inPlaceDepth is a number of rows of an unpacked b. So many rows stay in the second-level cache during the pass
	// over a, even if the rows are a page apart and share cache sets.
	inPlaceDepth = 128
)

// worker computes one rectangle of c.
type worker struct {
	kernels
	start            func()
	packedA, packedB []float32
	edge             []float32 // a tile that extends beyond the last column
}

func (w *worker) multiply(p product) {
	switch {
	case !p.transA && p.transB && min(p.m, p.n) <= w.few:
		for top := 0; top < p.m; top += w.few {
			w.dots(p.rectangle(top, min(top+w.few, p.m), 0, p.n))
		}
	case !p.transB && p.m <= w.inPlaceRows:
		w.inPlace(p)
	default:
		w.blocks(p)
	}
}

// blocks computes a product that is large enough for packing both matrices.
func (w *worker) blocks(p product) {
	height, depth := even(p.m, blockRows), even(p.k, blockDepth)
	for top := 0; top < p.m; top += height {
		block := p.rectangle(top, min(top+height, p.m), 0, p.n)
		for from := 0; from < p.k; from += depth {
			s := block.summands(from, min(from+depth, p.k))
			rows := w.packA(s)
			for left := 0; left < s.n; left += blockColumns {
				w.packedColumns(s.rectangle(0, s.m, left, min(left+blockColumns, s.n)), rows)
			}
		}
	}
}

// inPlace computes few rows. inPlace reads b once, without packing it.
func (w *worker) inPlace(p product) {
	depth, whole := even(p.k, inPlaceDepth), p.n/w.columns*w.columns
	for from := 0; from < p.k; from += depth {
		s := p.summands(from, min(from+depth, p.k))
		rows := w.packA(s)
		for j := 0; j < whole; j += w.columns {
			for i := 0; i < s.m; i += rows {
				w.tile(min(rows, s.m-i), s.k, &w.packedA[i*s.k], &s.b[j], s.ldb, s.alpha, s.beta, &s.c[i*s.ldc+j],
					s.ldc)
			}
		}
		if whole < s.n {
			w.packedColumns(s.rectangle(0, s.m, whole, s.n), rows)
		}
	}
}

// dots multiplies few rows of a by rows of b, four rows of b at a time. This reads b only once from memory.
func (w *worker) dots(p product) {
	depth, rows := even(p.k, dotDepth), even(p.m, w.dotRows)
	for from := 0; from < p.k; from += depth {
		s := p.summands(from, min(from+depth, p.k))
		for j, columns := 0, dotColumns; j < s.n; j += columns {
			if s.n-j < dotColumns {
				columns = 1
			}
			for i := 0; i < s.m; i += rows {
				w.dot(min(rows, s.m-i), columns, s.k, &s.a[i*s.lda], s.lda, &s.b[j*s.ldb], s.ldb, s.alpha, s.beta,
					&s.c[i*s.ldc+j], s.ldc)
			}
		}
	}
}

// packA packs a in panels and returns the rows per panel.
func (w *worker) packA(p product) int {
	rows := even(p.m, w.rows)
	w.packedA = grown(w.packedA, p.m*p.k)
	w.pack(w.packedA, rows, p.a, p.lda, p.m, p.k, !p.transA)
	return rows
}

// packedColumns computes up to blockColumns columns of c from packed rows of a. packedColumns packs the columns of
// b, which then stay in the second-level cache.
func (w *worker) packedColumns(p product, rows int) {
	// The kernel reads whole vectors, which may extend beyond a narrow panel's last row.
	w.packedB = grown(w.packedB, blockColumns*p.k+w.columns)
	w.pack(w.packedB, w.columns, p.b, p.ldb, p.n, p.k, p.transB)
	for i := 0; i < p.m; i += rows {
		for j := 0; j < p.n; j += w.columns {
			w.compute(min(rows, p.m-i), min(w.columns, p.n-j), p.k, &w.packedA[i*p.k], &w.packedB[j*p.k], p.alpha,
				p.beta, p.c[i*p.ldc+j:], p.ldc)
		}
	}
}

// compute runs the tile kernel on packed panels. compute computes a tile that is too narrow in separate memory and
// copies the result, so that it writes nothing but c.
func (w *worker) compute(rows, columns, k int, a, b *float32, alpha, beta float32, c []float32, ldc int) {
	if columns == w.columns {
		w.tile(rows, k, a, b, columns, alpha, beta, &c[0], ldc)
		return
	}
	w.tile(rows, k, a, b, columns, alpha, 0, &w.edge[0], w.columns)
	for i := range rows {
		row := c[i*ldc : i*ldc+columns]
		for j, x := range w.edge[i*w.columns : i*w.columns+columns] {
			if beta != 0 {
				x += beta * row[j]
			}
			row[j] = x
		}
	}
}

// even returns the step length that cuts n into the fewest equal parts of at most most.
func even(n, most int) int { return ceil(n, ceil(n, most)) }

// grown returns a buffer of at least n elements.
func grown(buffer []float32, n int) []float32 {
	if len(buffer) >= n {
		return buffer
	}
	return make([]float32, n)
}
