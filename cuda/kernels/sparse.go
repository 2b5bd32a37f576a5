//go:build nvidia

package kernels

import "github.com/psbench/psbench/cuda/driver"

// GatherBags writes y [bags, width]. Each row is the sum of the rows of table [any, width] that its bag names,
// added in their order. With mean set, it is the mean. An empty bag gives zeros. Bag i is
// indices[offsets[i]:offsets[i+1]]; the indices must be rows of the table. GatherBags moves 4 bytes per element of
// each named row and of y.
func (q *Queue) GatherBags(y, table []float32, width int, indices, offsets []int64, mean bool) {
	bags := q.rows("GatherBags", "y", len(y), width)
	if bags == 0 || !q.equal("GatherBags", "offsets", len(offsets), bags+1) {
		return
	}
	q.args.Reset()
	q.args.Pointer(pointer(y))
	q.args.Pointer(pointer(table))
	q.args.Pointer(pointer(indices))
	q.args.Pointer(pointer(offsets))
	q.u32(bags)
	q.u32(width)
	fours := inFours(width, pointer(y), pointer(table))
	q.flag(fours)
	q.flag(mean)
	blocks, block := tableGrid(bags, width, fours)
	q.launch(gatherBags, blocks, block)
}

// Runs are occurrences of rows in device memory, sorted by row and then by their order in the batch. The
// occurrences of row Rows[s] are Order[Starts[s]:Starts[s+1]]. Sorter makes Runs.
type Runs struct {
	Rows   []int32 // distinct, ascending
	Starts []int32 // has one element more than Rows
	Order  []int32 // number in the batch, by occurrence
}

// ScatterBags overwrites rows of gradient with the sums over their occurrences in bags. An occurrence adds the
// bag's row of dy [bags, width]; with mean set, that row is divided by the length of the bag. runs.Order has the
// bag of each occurrence. With table set, run s is written to row runs.Rows[s] of gradient [any, width], and other
// rows stay unchanged. Otherwise, run s is written to row s of gradient [len(runs.Rows), width]. One thread adds up
// each element in the order of the batch, as nn.EmbeddingBag does, with the same bits. ScatterBags moves 4 bytes
// per element of dy for each occurrence and of each written row. A run of n occurrences takes n steps.
func (q *Queue) ScatterBags(gradient, dy []float32, width int, runs Runs, offsets []int64, mean, table bool) {
	blocks, block, ok := q.beginRuns("ScatterBags", gradient, dy, width, runs, table)
	if !ok {
		return
	}
	q.args.Pointer(pointer(offsets))
	q.flag(mean)
	q.launch(scatterBags, blocks, block)
}

// CoalesceRows overwrites rows of dst like ScatterBags, but with the sums of the rows of src [occurrences, width]
// that runs.Order names. The result has the same bits as nn.Tables.
func (q *Queue) CoalesceRows(dst, src []float32, width int, runs Runs, table bool) {
	if blocks, block, ok := q.beginRuns("CoalesceRows", dst, src, width, runs, table); ok {
		q.launch(coalesceRows, blocks, block)
	}
}

// ScatterRuns adds a times rows of src [occurrences, width] to rows of table [any, width], one after the other.
// runs.Order names the rows of src, and runs.Rows those of table. The result equals vec.ScatterAxpy for rows that
// occur more than once. If a is 0, the table stays unchanged.
func (q *Queue) ScatterRuns(a float32, src, table []float32, width int, runs Runs) {
	if blocks, block, ok := q.beginRuns("ScatterRuns", table, src, width, runs, true); ok && a != 0 {
		q.args.F32(a)
		q.launch(scatterRuns, blocks, block)
	}
}

// beginRuns begins the arguments of a kernel over runs: dst, src, rows, starts, order, the number of runs, the
// width, and whether rows are processed in fours.
func (q *Queue) beginRuns(call string, dst, src []float32, width int, runs Runs,
	table bool) (blocks, block [3]uint32, ok bool) {
	if q.err != nil || len(runs.Rows) == 0 || q.rows(call, "the source", len(src), width) == 0 ||
		!q.equal(call, "runs.Starts", len(runs.Starts), len(runs.Rows)+1) {
		return blocks, block, false
	}
	rows := pointer(runs.Rows)
	if !table {
		if !q.equal(call, "the destination", len(dst), len(runs.Rows)*width) {
			return blocks, block, false
		}
		rows = 0
	}
	q.args.Reset()
	q.args.Pointer(pointer(dst))
	q.args.Pointer(pointer(src))
	q.args.Pointer(rows)
	q.args.Pointer(pointer(runs.Starts))
	q.args.Pointer(pointer(runs.Order))
	q.u32(len(runs.Rows))
	q.u32(width)
	fours := inFours(width, pointer(dst), pointer(src))
	q.flag(fours)
	blocks, block = tableGrid(len(runs.Rows), width, fours)
	return blocks, block, true
}

// GatherRows copies rows of table [any, width] to dst [len(rows), width], like vec.GatherRows. GatherRows moves 8
// bytes per element of dst.
func (q *Queue) GatherRows(dst, table []float32, width int, rows []int64) {
	if blocks, block, ok := q.eachRow("GatherRows", width, len(rows), dst, table, pointer(rows)); ok {
		q.launch(gatherRows, blocks, block)
	}
}

// ScatterRows adds a times each row of src [len(rows), width] to the row of table [any, width] with the number in
// rows, like vec.ScatterAxpy. rows must be distinct; ScatterRuns accepts repeated rows. If a is 0, the table stays
// unchanged. ScatterRows moves 12 bytes per element of src.
func (q *Queue) ScatterRows(a float32, src, table []float32, width int, rows []int32) {
	if blocks, block, ok := q.eachRow("ScatterRows", width, len(rows), src, table, pointer(rows)); ok && a != 0 {
		q.args.F32(a)
		q.launch(scatterRows, blocks, block)
	}
}

// eachRow begins the arguments of a kernel over rows of a table: the other matrix, which has count rows, the table,
// the rows, count, the width, and whether rows are processed in fours.
func (q *Queue) eachRow(call string, width, count int, other, table []float32,
	rows driver.Pointer) (blocks, block [3]uint32, ok bool) {
	if q.rows(call, "rows", len(other), width) == 0 || !q.equal(call, "rows", len(other), count*width) {
		return blocks, block, false
	}
	fours := inFours(width, pointer(other), pointer(table))
	q.args.Reset()
	q.args.Pointer(pointer(other))
	q.args.Pointer(pointer(table))
	q.args.Pointer(rows)
	q.u32(count)
	q.u32(width)
	q.flag(fours)
	blocks, block = tableGrid(count, width, fours)
	return blocks, block, true
}

// CopyColumns copies width columns of rows rows from src to dst. The rows of src begin srcStride elements apart,
// and those of dst dstStride elements apart. CopyColumns moves 8 bytes per copied element.
func (q *Queue) CopyColumns(dst []float32, dstStride int, src []float32, srcStride, rows, width int) {
	if q.err != nil || rows < 1 || width < 1 ||
		!q.atLeast("CopyColumns", "dst", len(dst), (rows-1)*dstStride+width) ||
		!q.atLeast("CopyColumns", "src", len(src), (rows-1)*srcStride+width) {
		return
	}
	q.args.Reset()
	q.args.Pointer(pointer(dst))
	q.args.Pointer(pointer(src))
	q.args.U64(uint64(dstStride)) // #nosec G115 -- not negative
	q.args.U64(uint64(srcStride)) // #nosec G115 -- not negative
	q.u32(rows)
	q.u32(width)
	blocks, block := columnGrid(rows, width)
	q.launch(copyColumns, blocks, block)
}
