package tensor

import "fmt"

// Check reports whether g has the shape that spec asks for, and rows of its table.
func (spec *BucketSpec) Check(g *Gradient) error {
	switch {
	case !spec.Sparse && g.Sparse(), spec.Sparse && g.Width != spec.Width:
		return fmt.Errorf("the gradient of bucket %d has width %d instead of %d", spec.Index, g.Width, spec.Width)
	case !spec.Sparse && len(g.Values) != spec.Words():
		return fmt.Errorf("the gradient of bucket %d has %d elements instead of %d", spec.Index, len(g.Values),
			spec.Elements)
	case spec.Sparse && len(g.Rows) > spec.Capacity:
		return fmt.Errorf("the gradient of bucket %d has %d rows, more than its capacity of %d", spec.Index,
			len(g.Rows), spec.Capacity)
	case spec.Sparse && len(g.Values) != len(g.Rows)*g.Width:
		return fmt.Errorf("the gradient of bucket %d has %d values for %d rows of width %d", spec.Index, len(g.Values),
			len(g.Rows), g.Width)
	case spec.Sparse:
		return spec.CheckRows(g.Rows)
	}
	return nil
}

// CheckRows is the function CheckRows for the table of a sparse bucket, which its error names.
func (spec *BucketSpec) CheckRows(rows []int32) error {
	if err := CheckRows(rows, spec.TableRows); err != nil {
		return fmt.Errorf("bucket %d has %w", spec.Index, err)
	}
	return nil
}

// CheckRows reports whether rows are strictly ascending rows of a table of this
// many rows. The error names the row, its place and what would be right, as what
// something has: "row -1 at place 0, which is ...".
func CheckRows(rows []int32, table int) error {
	last := int32(-1)
	for i, row := range rows {
		if row <= last {
			return wrongRow(rows, i, table)
		}
		last = row
	}
	if int(last) >= table {
		return wrongRow(rows, len(rows)-1, table)
	}
	return nil
}

// wrongRow says what is wrong with the row at place i, if the rows before it rise.
func wrongRow(rows []int32, i, table int) error {
	row, bound := rows[i], "beyond the last row"
	switch {
	case row < 0:
		bound = "below row 0"
	case i > 0 && row <= rows[i-1]:
		bound = fmt.Sprintf("not above row %d before it", rows[i-1])
	}
	return fmt.Errorf("row %d at place %d, which is %s: rows must ascend within a table of %d", row, i, bound, table)
}
