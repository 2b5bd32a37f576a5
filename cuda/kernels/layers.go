//go:build nvidia

package kernels

// AddBias adds bias [columns] to every row of y [rows, columns]. AddBias moves 8 bytes per element of y.
func (q *Queue) AddBias(y, bias []float32) {
	rows := q.rows("AddBias", "y", len(y), len(bias))
	if rows == 0 {
		return
	}
	blocks, block := columnGrid(rows, len(bias))
	q.args.Reset()
	q.args.Pointer(pointer(y))
	q.args.Pointer(pointer(bias))
	q.u32(rows)
	q.u32(len(bias))
	q.launch(addBias, blocks, block)
}

// columnGrid has one thread for each element of a matrix, or for each slice of rows.
func columnGrid(rows, columns int) (blocks, block [3]uint32) {
	x := blocksFor(columns, 32)
	y := uint32(min((rows+7)/8, max(1, mostBlocks/int(x)))) // #nosec G115 -- at most mostBlocks
	return [3]uint32{x, y, 1}, [3]uint32{32, 8, 1}
}

const (
	sliceRows  = 256 // rows that one thread of ColumnSum adds up, unless there are very many
	mostSlices = 8
)

// ColumnSum computes dst [columns] = the sum of the rows of dy [rows, columns]. ColumnSum adds up to 256 rows one
// after the other, as the CPU does. ColumnSum cuts more rows into up to 8 slices and adds the slices' sums in
// order. ColumnSum moves 4 bytes per element of dy.
func (q *Queue) ColumnSum(dst, dy []float32) {
	if q.err == nil && len(dy) == 0 {
		q.Clear(dst)
		return
	}
	rows := q.rows("ColumnSum", "dy", len(dy), len(dst))
	if rows == 0 {
		return
	}
	q.args.Reset()
	q.args.Pointer(pointer(dst))
	q.args.Pointer(pointer(dy))
	q.u32(rows)
	q.u32(len(dst))
	slices := min((rows+sliceRows-1)/sliceRows, mostSlices)
	blocks := uint32((len(dst) + 31) / 32)                              // #nosec G115 -- rows has checked it
	q.launch(columnSum, line(blocks), [3]uint32{32, uint32(slices), 1}) // #nosec G115 -- at most 8
}

// Softmax replaces every row of x [rows, classes] with its softmax, like vec.Softmax. A NaN or +Inf makes its whole
// row NaN. The exponentials have the bits of the CPU; their sum uses float64. Softmax moves 16 bytes per element,
// mostly in the caches.
func (q *Queue) Softmax(x []float32, classes int) {
	q.byRow("Softmax", softmax, classes, x)
}

// SoftmaxGradient writes dx = y (dy - Σ y dy), row by row of [rows, classes], where y is the result of Softmax. dx
// may be dy. SoftmaxGradient moves 20 bytes per element.
func (q *Queue) SoftmaxGradient(dx, dy, y []float32, classes int) {
	q.byRow("SoftmaxGradient", softmaxGradient, classes, dx, dy, y)
}

// LogSoftmax replaces every row of x [rows, classes] with the logarithm of its softmax, x - log Σ exp x. LogSoftmax
// moves 16 bytes per element.
func (q *Queue) LogSoftmax(x []float32, classes int) {
	q.byRow("LogSoftmax", logSoftmax, classes, x)
}

// LogSoftmaxGradient writes dx = dy - exp(y) Σ dy, row by row of [rows, classes], where y is the result of
// LogSoftmax. dx may be dy. LogSoftmaxGradient moves 16 bytes per element.
func (q *Queue) LogSoftmaxGradient(dx, dy, y []float32, classes int) {
	q.byRow("LogSoftmaxGradient", logSoftmaxGradient, classes, dx, dy, y)
}

// byRow launches a kernel with these arguments: arrays [rows, classes], rows and classes.
func (q *Queue) byRow(call string, k kernel, classes int, arrays ...[]float32) {
	rows := q.rows(call, "its first argument", len(arrays[0]), classes)
	if rows == 0 {
		return
	}
	q.args.Reset()
	for _, a := range arrays {
		if !q.equal(call, "another argument", len(a), len(arrays[0])) {
			return
		}
		q.args.Pointer(pointer(a))
	}
	q.u32(rows)
	q.u32(classes)
	blocks, block := rowGrid(rows, classes)
	q.launch(k, blocks, block)
}

// rowGrid gives each row one warp, with 4 warps per block. A long row gets a block of 8 warps. The order of a row's
// sum depends only on the row's length.
func rowGrid(rows, classes int) (blocks, block [3]uint32) {
	if classes <= 256 {
		return line(uint32((rows + 3) / 4)), [3]uint32{32, 4, 1} // #nosec G115 -- rows are below 2^31
	}
	return line(uint32(rows)), [3]uint32{256, 1, 1} // #nosec G115 -- as above
}
