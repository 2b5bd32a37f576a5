package stream

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/wire"
)

// port is the server's side of its trainers' push/pull links. The comment of
// link has the costs.
type port struct {
	op.Port
	stores [][]*comm.Store // by trainer
	slots  [][]*pushSlot   // by trainer, then bucket index
}

// pushSlot receives one trainer's pushes of one bucket.
type pushSlot struct {
	spec   tensor.BucketSpec
	chunks int // frames per push
	// arrivals are the parts of a push that the port hands over: its chunks, or
	// one part for the whole push.
	arrivals   []pushArrival
	unanswered atomic.Int32 // chunks of the last push whose answer was not sent yet
}

// pushArrival is an Arrival with the port's state for it.
type pushArrival struct {
	comm.Arrival
	port    *port
	slot    *pushSlot
	pending atomic.Bool // handed over but not answered
}

// newPort makes a server's port. stores has a store for each trainer with a
// connection, and nil for others. With chunked set, the port hands over the
// chunks of a dense push as they arrive and sends each answer at once, so push,
// reduction and answer of a bucket overlap. Once a push has begun, each further
// chunk must follow within timeout. A trainer must accept an answer within
// timeout.
func newPort(trainers wire.Links, stores []*comm.Store, specs []tensor.BucketSpec, chunked bool) *port {
	p := &port{Port: op.Port{Links: trainers}}
	for trainer, store := range stores {
		if store == nil {
			p.stores, p.slots = append(p.stores, nil), append(p.slots, nil)
			continue
		}
		p.stores = append(p.stores, []*comm.Store{store})
		p.slots = append(p.slots, op.ByIndex(specs, func(spec tensor.BucketSpec) *pushSlot {
			return &pushSlot{spec: spec, chunks: chunksOf(&spec)}
		}))
		for _, b := range store.Buckets {
			p.prepare(op.At(p.slots[trainer], b.Index), trainer, &b.Gradient, chunked)
		}
	}
	return p
}

// prepare makes the arrivals of a slot whose pushes arrive in g.
func (p *port) prepare(slot *pushSlot, trainer int, g *tensor.Gradient, chunked bool) {
	n := 1
	if chunked {
		n = slot.chunks
	}
	slot.arrivals = make([]pushArrival, n)
	for k := range slot.arrivals {
		part := g
		if chunked && !slot.spec.Sparse {
			chunk := chunkOf(g, k)
			part = &chunk
		}
		a := &slot.arrivals[k]
		a.port, a.slot = p, slot
		a.Arrival = comm.Arrival{Bucket: slot.spec.Index, Trainer: trainer, Chunk: k, Chunks: n, Gradient: part,
			Answer: a.answer}
	}
}

// Stores implements comm.Port.
func (p *port) Stores(trainer int) []*comm.Store { return p.stores[trainer] }

// Serve implements comm.Port. Each trainer has a goroutine that calls handle,
// so handle runs for several trainers at once and delays only its own trainer.
func (p *port) Serve(handle func(*comm.Arrival) error) error {
	return readAll(&p.Port, func(trainer int) error { return p.read(trainer, handle) })
}

// readAll calls read for every trainer of a port at once and waits until all
// calls have returned.
func readAll(p *op.Port, read func(trainer int) error) error {
	return p.Run(func() {
		var readers sync.WaitGroup
		for trainer, conn := range p.Conns {
			if conn == nil {
				continue
			}
			readers.Go(func() {
				if err := read(trainer); err != nil {
					p.Fail(err)
				}
			})
		}
		readers.Wait()
	})
}

// Close implements comm.Port.
func (p *port) Close() error {
	_, err := p.Shut()
	return err
}

// read receives the pushes of one trainer until the trainer ends its link.
func (p *port) read(trainer int, handle func(*comm.Arrival) error) error {
	c := p.Conns[trainer]
	var h wire.Header
	for {
		if err := c.NextHeader(&h); err != nil {
			return c.Explain(err, "the wait for a push", 0)
		}
		if h.Op == wire.OpBye {
			return nil
		}
		slot := op.At(p.slots[trainer], int(h.Bucket))
		switch {
		case h.Op != wire.OpPush:
			return fmt.Errorf("%s sent operation %d to %s, which expects pushes", c.Peer(), h.Op, p.Self)
		case slot == nil:
			return fmt.Errorf("%s pushed bucket %d of batch %d to %s, which does not serve it", c.Peer(), h.Bucket,
				h.Batch, p.Self)
		case !slot.unanswered.CompareAndSwap(0, int32(slot.chunks)): // #nosec G115 -- far fewer than 2^31
			return fmt.Errorf("%s pushed batch %d, bucket %d to %s before batch %d of that bucket was answered",
				c.Peer(), h.Batch, h.Bucket, p.Self, slot.arrivals[0].Batch)
		}
		if err := p.receive(c, slot, &h, handle); err != nil {
			return err
		}
	}
}

// receive reads the push that starts with h and hands it over.
func (p *port) receive(c *wire.Conn, slot *pushSlot, h *wire.Header, handle func(*comm.Arrival) error) error {
	batch := h.Batch
	bounded := slot.chunks > 1 || !c.Buffered(h.Payload)
	for k := range slot.chunks {
		if bounded {
			_ = c.SetReadDeadline(time.Now().Add(p.Timeout)) // fails only on a closed connection, whose reads fail too
		}
		a := &slot.arrivals[min(k, len(slot.arrivals)-1)]
		if err := p.readChunk(c, a, h, batch, k); err != nil {
			return c.Explain(err, "the push of "+op.Describe(batch, slot.spec.Index), int64(p.Timeout))
		}
		if len(slot.arrivals) == 1 && k < slot.chunks-1 {
			continue
		}
		a.Batch, a.AtNS = batch, comm.Now()
		a.pending.Store(true)
		if err := handle(&a.Arrival); err != nil {
			return err
		}
	}
	if bounded {
		_ = c.SetReadDeadline(time.Time{})
	}
	return nil
}

// readChunk reads chunk k of a push into its part of a. For the first chunk,
// the caller has already read the header.
func (p *port) readChunk(c *wire.Conn, a *pushArrival, h *wire.Header, batch int64, k int) error {
	if k > 0 {
		if err := c.NextHeader(h); err != nil {
			return err
		}
	}
	first, spec := int64(k)*comm.ChunkElements, &a.slot.spec
	if h.Op != wire.OpPush || h.Batch != batch || int(h.Bucket) != spec.Index || h.Arg != first {
		return fmt.Errorf("%s sent operation %d of batch %d, bucket %d, from element %d on to %s, which expects the push of batch %d, bucket %d, from element %d on",
			c.Peer(), h.Op, h.Batch, h.Bucket, h.Arg, p.Self, batch, spec.Index, first)
	}
	if a.Chunks == a.slot.chunks {
		return readGradient(c, h, spec, a.Gradient)
	}
	part := chunkOf(a.Gradient, k)
	return readGradient(c, h, spec, &part)
}

// answer sends g, frame by frame.
func (a *pushArrival) answer(g *tensor.Gradient) error {
	p, slot := a.port, a.slot
	c := p.Conns[a.Trainer]
	spec := slot.spec
	if !spec.Sparse {
		spec.Elements = len(a.Gradient.Values)
	}
	if err := spec.Check(g); err != nil {
		return p.CannotAnswer(a.Trainer, err)
	}
	batch, first, last := a.Batch, a.Chunk, a.Chunk+slot.chunks/a.Chunks
	if !a.pending.CompareAndSwap(true, false) {
		return p.NotInFlight(a.Bucket, a.Trainer)
	}
	deadline := time.Now().Add(p.Timeout)
	for k := first; k < last; k++ {
		part := chunkOf(g, k-first)
		h := chunkHeader(wire.OpAnswer, batch, spec.Index, k, &part)
		// Count the answer before the send: the trainer's next push may arrive
		// before the send returns.
		slot.unanswered.Add(-1)
		if err := c.PostBy(deadline, &h, tensor.Int32Bytes(part.Rows), tensor.Float32Bytes(part.Values)); err != nil {
			err = c.ExplainSend(err, "the answer to "+op.Describe(batch, spec.Index), int64(p.Timeout))
			p.Fail(err)
			return err
		}
	}
	return nil
}
