package vec

import "fmt"

// GatherSum sets dst [width] to the sum of these rows of table [any, width], added up
// in their order; no rows give zeros. A row may be named more than once. A row outside
// the table is a panic, as an index outside a slice is.
func GatherSum(dst, table []float32, width int, rows []int64) {
	checkRows(rows, table, width)
	gatherSum(dst[:width], table, rows)
}

// GatherRows copies these rows of table [any, width] to dst [len(rows), width]. A row
// outside the table is a panic.
func GatherRows(dst, table []float32, width int, rows []int64) {
	checkRows(rows, table, width)
	gatherRows(dst[:len(rows)*width], table, width, rows)
}

// ScatterAxpy adds a times each row of src [len(rows), width] to the row of table
// [any, width] that rows names for it, in their order. A row may be named more than
// once. An a of 0 leaves the table as it is. A row outside the table is a panic.
func ScatterAxpy(a float32, src, table []float32, width int, rows []int32) {
	checkRows(rows, table, width)
	if a != 0 {
		scatterAxpy(a, src[:len(rows)*width], table, width, rows)
	}
}

func checkRows[T int32 | int64](rows []T, table []float32, width int) {
	if len(rows) == 0 {
		return
	}
	count := int64(len(table) / width)
	for _, row := range rows {
		if row := int64(row); row < 0 || row >= count {
			panic(fmt.Sprintf("vec: row %d lies outside a table of %d rows", row, count))
		}
	}
}
