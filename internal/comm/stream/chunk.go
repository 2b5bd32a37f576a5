package stream

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
)

// chunksOf is how many frames a gradient of spec travels as: a dense one as one per
// chunk, a sparse one as one.
func chunksOf(spec *tensor.BucketSpec) int {
	if spec.Sparse {
		return 1
	}
	return comm.Chunks(spec.Words())
}

// chunkOf is the part of g that travels as frame k: all of a sparse gradient.
func chunkOf(g *tensor.Gradient, k int) tensor.Gradient {
	if g.Sparse() {
		return *g
	}
	first := k * comm.ChunkElements
	last := min(first+comm.ChunkElements, len(g.Values))
	return tensor.Gradient{Values: g.Values[first:last:last]}
}

// chunkHeader starts the frame of chunk k, which is g.
func chunkHeader(op wire.Op, batch int64, bucket, k int, g *tensor.Gradient) wire.Header {
	return wire.Header{
		Op: op, Batch: batch, Bucket: int32(bucket), // #nosec G115 -- far fewer than 2^31
		Rows: int32(len(g.Rows)), Arg: int64(k) * comm.ChunkElements, // #nosec G115 -- rows are int32
	}
}

// readGradient reads the payload that h announces into g: a dense gradient, or a
// chunk of one, whose size must be that of g; a sparse one whose storage was made
// for spec. Errors of the connection are passed on as they are.
func readGradient(c *wire.Conn, h *wire.Header, spec *tensor.BucketSpec, g *tensor.Gradient) error {
	if spec.Sparse {
		if err := g.SetRows(int(h.Rows)); err != nil {
			return fmt.Errorf("%s sent bucket %d to %s: %w", c.Peer(), spec.Index, c.Self(), err)
		}
	} else if h.Rows != 0 {
		return fmt.Errorf("%s sent %d rows of bucket %d to %s, which is dense", c.Peer(), h.Rows, spec.Index, c.Self())
	}
	if want := 4 * uint64(len(g.Rows)+len(g.Values)); h.Payload != want {
		return fmt.Errorf("%s sent %d bytes of bucket %d to %s, which expects %d", c.Peer(), h.Payload, spec.Index,
			c.Self(), want)
	}
	if spec.Sparse {
		if err := c.Fill(tensor.Int32Bytes(g.Rows)); err != nil {
			return err
		}
		if err := spec.CheckRows(g.Rows); err != nil {
			return fmt.Errorf("%s sent to %s: %w", c.Peer(), c.Self(), err)
		}
	}
	return c.Fill(tensor.Float32Bytes(g.Values))
}
