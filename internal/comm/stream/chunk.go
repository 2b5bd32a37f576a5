package stream

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
)

// chunksOf is the number of frames of a gradient of spec. A dense gradient has
// one frame per chunk, a sparse gradient one frame.
func chunksOf(spec *tensor.BucketSpec) int {
	if spec.Sparse {
		return 1
	}
	return comm.Chunks(spec.Elements)
}

// chunkOf is the part of g that travels as frame k. For a sparse gradient it is
// the whole gradient.
func chunkOf(g *tensor.Gradient, k int) tensor.Gradient {
	if g.Sparse() {
		return *g
	}
	first := k * comm.ChunkElements
	last := min(first+comm.ChunkElements, len(g.Values))
	return tensor.Gradient{Values: g.Values[first:last:last]}
}

// chunkHeader makes the header of a frame with chunk k, where g is the chunk.
func chunkHeader(op wire.Op, batch int64, bucket, k int, g *tensor.Gradient) wire.Header {
	return wire.Header{
		Op: op, Batch: batch, Bucket: int32(bucket), // #nosec G115 -- far fewer than 2^31
		Rows: int32(len(g.Rows)), Arg: int64(k) * comm.ChunkElements, // #nosec G115 -- rows are int32
	}
}

// readGradient reads the payload of h into g. If g is dense, it is a gradient
// or a chunk, and the payload must have its size. If g is sparse, its storage
// must be sized for spec. readGradient returns errors of the connection
// unchanged.
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
