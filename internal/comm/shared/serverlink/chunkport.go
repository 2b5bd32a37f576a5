package serverlink

import (
	"fmt"
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
)

// chunk is a chunk of a dense push through shared memory. The port hands a push
// over in chunks if the server's other port does so with the pushes of other
// trainers. All chunks arrive at once, and the push is answered when all of its
// chunks are.
type chunk struct {
	comm.Arrival
	of         *arrival
	spec       tensor.BucketSpec  // the bucket's spec with the chunk's number of elements
	places     [2]tensor.Gradient // the chunk in each place of the bucket
	pending    atomic.Bool        // handed over and not yet answered
	unanswered *atomic.Int32      // number of unanswered chunks of the push
}

func newChunks(a *arrival) []*chunk {
	chunks := make([]*chunk, comm.Chunks(a.spec.Words()))
	unanswered := new(atomic.Int32)
	for k := range chunks {
		c := &chunk{of: a, unanswered: unanswered}
		from := k * comm.ChunkElements
		to := min(from+comm.ChunkElements, a.spec.Words())
		for place, b := range a.places {
			c.places[place] = tensor.Gradient{Values: b.Gradient.Values[from:to:to]}
		}
		c.spec = a.spec.Part(from, to)
		c.Arrival = comm.Arrival{Bucket: a.Bucket, Trainer: a.Trainer, Chunk: k, Chunks: len(chunks), InPlace: true,
			Answer: c.answer}
		chunks[k] = c
	}
	return chunks
}

// handOver calls handle with a valid push, or with each of its chunks.
func (a *arrival) handOver(handle func(*comm.Arrival) error) error {
	if a.chunks == nil {
		return handle(&a.Arrival)
	}
	place := 0
	if a.bucket != a.places[place] {
		place = 1
	}
	a.chunks[0].unanswered.Store(int32(len(a.chunks))) // #nosec G115 -- far fewer than 2^31
	batch, atNS, more := a.Batch, a.AtNS, a.More
	for _, c := range a.chunks { // after the last chunk's answer, the next push may come
		c.Batch, c.AtNS, c.More, c.Gradient = batch, atNS, more, &c.places[place]
		c.pending.Store(true)
		if err := handle(&c.Arrival); err != nil {
			return err
		}
	}
	return nil
}

// answer implements Arrival.Answer for a chunk. answer copies g unless g
// already lies in the chunk.
func (c *chunk) answer(g *tensor.Gradient) error {
	a, p := c.of, c.of.port
	if p.Ended() {
		return a.refused()
	}
	if err := c.spec.Check(g); err != nil {
		return p.CannotAnswer(a.Trainer, err)
	}
	if !c.pending.CompareAndSwap(true, false) {
		return fmt.Errorf("%s answered chunk %d of bucket %d to %s, which has no push of it in flight", p.Self, c.Chunk,
			c.Bucket, a.from())
	}
	if !g.SameValues(c.Gradient) {
		if err := c.Gradient.CopyFrom(g); err != nil {
			return p.CannotAnswer(a.Trainer, err)
		}
	}
	if c.unanswered.Add(-1) == 0 {
		a.tell()
	}
	return nil
}
