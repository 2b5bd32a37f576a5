package comm

import "fmt"

// check reports whether g has the shape that spec asks for.
func (spec *BucketSpec) check(g *Gradient) error {
	switch {
	case !spec.Sparse && g.Sparse(), spec.Sparse && g.Width != spec.Width:
		return fmt.Errorf("the gradient of bucket %d has width %d instead of %d", spec.Index, g.Width, spec.Width)
	case !spec.Sparse && len(g.Values) != spec.Elements:
		return fmt.Errorf("the gradient of bucket %d has %d elements instead of %d", spec.Index, len(g.Values), spec.Elements)
	case spec.Sparse && len(g.Rows) > spec.Capacity:
		return fmt.Errorf("the gradient of bucket %d has %d rows, more than its capacity of %d", spec.Index, len(g.Rows), spec.Capacity)
	case spec.Sparse && len(g.Values) != len(g.Rows)*g.Width:
		return fmt.Errorf("the gradient of bucket %d has %d values for %d rows of width %d", spec.Index, len(g.Values), len(g.Rows), g.Width)
	case spec.Sparse:
		return spec.checkRows(g.Rows)
	}
	return nil
}

func (spec *BucketSpec) checkRows(rows []int32) error {
	if err := CheckRows(rows, spec.TableRows); err != nil {
		return fmt.Errorf("bucket %d has %w", spec.Index, err)
	}
	return nil
}

// CheckRows reports whether rows are strictly ascending rows of a table of this
// many rows.
func CheckRows(rows []int32, table int) error {
	last := int32(-1)
	for i, row := range rows {
		if row <= last {
			return fmt.Errorf("row %d at place %d, not above row %d before it", row, i, last)
		}
		last = row
	}
	if int(last) >= table {
		return fmt.Errorf("row %d outside its table of %d rows", last, table)
	}
	return nil
}

// readGradient reads the payload that h announces into g, whose storage was
// made for spec. Errors of the connection are passed on as they are.
func readGradient(c *Conn, h *Header, spec *BucketSpec, g *Gradient) error {
	rows, elements := 0, spec.Elements
	if spec.Sparse {
		rows, elements = int(h.Rows), int(h.Rows)*spec.Width
		if err := g.SetRows(rows); err != nil {
			return fmt.Errorf("%s sent bucket %d to %s: %w", c.peer, spec.Index, c.self, err)
		}
	}
	if want := 4 * (uint64(rows) + uint64(elements)); h.Payload != want { // #nosec G115 -- neither is negative
		return fmt.Errorf("%s sent %d bytes of bucket %d to %s, which expects %d", c.peer, h.Payload, spec.Index, c.self, want)
	}
	if spec.Sparse {
		if err := c.readFull(Int32Bytes(g.Rows)); err != nil {
			return err
		}
		if err := spec.checkRows(g.Rows); err != nil {
			return fmt.Errorf("%s sent to %s: %w", c.peer, c.self, err)
		}
	}
	return c.readFull(Float32Bytes(g.Values))
}
