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
	return fmt.Errorf("row %d at place %d, which is %s: rows must rise and lie in a table of %d", row, i, bound, table)
}

// chunks is how many frames a gradient of spec travels as: a dense one as one per
// chunk, a sparse one as one.
func (spec *BucketSpec) chunks() int {
	if spec.Sparse {
		return 1
	}
	return Chunks(spec.Elements)
}

// chunkOf is the part of g that travels as frame k: all of a sparse gradient.
func chunkOf(g *Gradient, k int) Gradient {
	if g.Sparse() {
		return *g
	}
	first := k * ChunkElements
	last := min(first+ChunkElements, len(g.Values))
	return Gradient{Values: g.Values[first:last:last]}
}

// chunkHeader starts the frame of chunk k, which is g.
func chunkHeader(op Op, batch int64, bucket, k int, g *Gradient) Header {
	return Header{
		Op: op, Batch: batch, Bucket: int32(bucket), // #nosec G115 -- far fewer than 2^31
		Rows: int32(len(g.Rows)), Arg: int64(k) * ChunkElements, // #nosec G115 -- rows are int32
	}
}

// readGradient reads the payload that h announces into g: a dense gradient, or a
// chunk of one, whose size must be that of g; a sparse one whose storage was made
// for spec. Errors of the connection are passed on as they are.
func readGradient(c *Conn, h *Header, spec *BucketSpec, g *Gradient) error {
	if spec.Sparse {
		if err := g.SetRows(int(h.Rows)); err != nil {
			return fmt.Errorf("%s sent bucket %d to %s: %w", c.peer, spec.Index, c.self, err)
		}
	} else if h.Rows != 0 {
		return fmt.Errorf("%s sent %d rows of bucket %d to %s, which is dense", c.peer, h.Rows, spec.Index, c.self)
	}
	if want := 4 * uint64(len(g.Rows)+len(g.Values)); h.Payload != want {
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
