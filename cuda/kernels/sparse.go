//go:build nvidia

package kernels

import "github.com/psbench/psbench/cuda/driver"

// GatherBags writes y [bags, width]: each row is the sum of the rows of table [any, width] that its bag
// names, added in their order, or with mean their mean; an empty bag gives zeros. Bag i is
// indices[offsets[i]:offsets[i+1]]; they must name rows of the table. It moves 4 bytes an element of
// each row named and of y.
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

// Runs are occurrences of rows, sorted by row and then by their order in the batch, in device memory:
// those of row Rows[s] are Order[Starts[s]:Starts[s+1]]. Sorter makes them.
type Runs struct {
	Rows   []int32 // distinct, ascending
	Starts []int32 // one more than Rows
	Order  []int32 // by occurrence: its number in the batch
}

// ScatterBags overwrites rows of gradient with the sums of what their occurrences in bags give them: of
// dy [bags, width] the row of the bag, divided by the length of the bag with mean. runs.Order has the
// bag of each occurrence. With table a gradient [any, width] gets row runs.Rows[s] for run s, and its
// others stay as they are; otherwise gradient [len(runs.Rows), width] gets row s. Each element is added
// up by one thread in the order of the batch, as nn.EmbeddingBag does it, to the same bits. It moves 4
// bytes an element of dy for each occurrence and of each row written; a run of n occurrences takes n
// steps.
func (q *Queue) ScatterBags(gradient, dy []float32, width int, runs Runs, offsets []int64, mean, table bool) {
	blocks, block, ok := q.beginRuns("ScatterBags", gradient, dy, width, runs, table)
	if !ok {
		return
	}
	q.args.Pointer(pointer(offsets))
	q.flag(mean)
	q.launch(scatterBags, blocks, block)
}

// CoalesceRows overwrites rows of dst as ScatterBags does, with the sums of the rows of src [occurrences,
// width] that runs.Order names, as nn.Tables does it and to the same bits.
func (q *Queue) CoalesceRows(dst, src []float32, width int, runs Runs, table bool) {
	if blocks, block, ok := q.beginRuns("CoalesceRows", dst, src, width, runs, table); ok {
		q.launch(coalesceRows, blocks, block)
	}
}

// ScatterRuns adds a times the rows of src [occurrences, width] that runs.Order names to the rows of table
// [any, width] that runs.Rows names, one after the other, as vec.ScatterAxpy does to rows that are named
// more than once. An a of 0 leaves the table as it is.
func (q *Queue) ScatterRuns(a float32, src, table []float32, width int, runs Runs) {
	if blocks, block, ok := q.beginRuns("ScatterRuns", table, src, width, runs, true); ok && a != 0 {
		q.args.F32(a)
		q.launch(scatterRuns, blocks, block)
	}
}

// beginRuns begins the arguments of a kernel over runs: dst, src, rows, starts, order, how many runs
// there are, width and whether rows go in fours.
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

// GatherRows copies rows of table [any, width] to dst [len(rows), width], as vec.GatherRows. It moves 8
// bytes an element of dst.
func (q *Queue) GatherRows(dst, table []float32, width int, rows []int64) {
	if blocks, block, ok := q.eachRow("GatherRows", width, len(rows), dst, table, pointer(rows)); ok {
		q.launch(gatherRows, blocks, block)
	}
}

// ScatterRows adds a times each row of src [len(rows), width] to the row of table [any, width] that rows
// names for it, as vec.ScatterAxpy; but each row must stand once in rows: ScatterRuns has others. An a of
// 0 leaves the table as it is. It moves 12 bytes an element of src.
func (q *Queue) ScatterRows(a float32, src, table []float32, width int, rows []int32) {
	if blocks, block, ok := q.eachRow("ScatterRows", width, len(rows), src, table, pointer(rows)); ok && a != 0 {
		q.args.F32(a)
		q.launch(scatterRows, blocks, block)
	}
}

// eachRow begins the arguments of a kernel over rows of a table: the other matrix, which has count rows,
// the table, the rows, count, width and whether they go in fours.
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

// CopyColumns copies width columns of rows rows from src, whose rows begin srcStride elements after each
// other, to dst, whose rows begin dstStride after each other. It moves 8 bytes an element copied.
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
