// Package stream makes links that exchange frames over any network. A frame is
// a header and a payload, which the kernel copies directly to its destination.
package stream

import (
	"fmt"
	"sync"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/wire"
)

// link is a trainer's side of a push/pull link over a Conn. One goroutine sends
// pushes in the order of the calls. Another goroutine reads answers, in any
// order, directly into the gradients that they replace.
//
// A dense push travels as one frame per chunk. The server may answer a chunk
// while later chunks are still in transit. A sparse push is one frame. A push
// of n chunks and its answer cost 2n frames of HeaderSize bytes each. Each way
// also carries 4 bytes per element of a dense gradient, or 4 + 4*Width bytes
// per row of a sparse gradient.
type link struct {
	op.Buckets
	conn       *wire.Conn
	pushes     []*push // by bucket index
	queue      chan *push
	armed      time.Time // current read deadline; guarded by Mu
	quit       chan struct{}
	stop       func() // closes quit
	senderDone chan struct{}
	done       chan struct{}
}

// push handles the pushes of one bucket, one after the other. The link's Mu
// guards it.
type push struct {
	*op.Reduction
	stage    op.Stage // set for a trainer that also pushes for others; else nil
	sent     int      // chunks sent or being sent; only they can have answers
	answered []bool   // by chunk
	left     int      // number of chunks without an answer
}

func (p *push) reset() {
	p.sent, p.left = 0, len(p.answered)
	clear(p.answered)
}

// span is chunk k of a dense push.
func (p *push) span(k int) op.Span {
	from := k * comm.ChunkElements
	return op.Span{From: from, To: min(from+comm.ChunkElements, p.Spec.Words())}
}

var _ comm.ServerLink = (*link)(nil)

// newLink starts a link over conn, which it then owns, for the given buckets.
// The server must answer each push within timeout.
func newLink(conn *wire.Conn, buckets []tensor.BucketSpec, timeout time.Duration) *link {
	l := &link{
		conn:       conn,
		queue:      make(chan *push, len(buckets)),
		quit:       make(chan struct{}),
		senderDone: make(chan struct{}),
		done:       make(chan struct{}),
	}
	l.InitPushes(conn, buckets, timeout, nil)
	l.pushes = op.ByIndex(buckets, func(spec tensor.BucketSpec) *push {
		p := &push{Reduction: l.Of(spec.Index), answered: make([]bool, chunksOf(&spec))}
		p.reset()
		return p
	})
	l.stop = sync.OnceFunc(func() { close(l.quit) })
	go l.send()
	go l.receive()
	return l
}

// PushPull implements comm.PushPuller. The future's error is a *WaitError at
// the deadline and a *PeerError if the server is gone; either ends the link.
func (l *link) PushPull(batch int64, b *tensor.Bucket) *comm.Future {
	if err := op.RequireFloat32(l.Self, b); err != nil {
		return comm.Completed(err)
	}
	r, err := l.Begin(batch, b)
	if err != nil {
		return comm.Completed(err)
	}
	return l.start(r, nil)
}

// start queues a pending push. If stage is not nil, it prepares each chunk.
func (l *link) start(r *op.Reduction, stage op.Stage) *comm.Future {
	p := l.pushes[r.Spec.Index]
	p.stage = stage
	l.arm()
	l.queue <- p // never blocks: each bucket is queued at most once
	return r.Future()
}

// Close ends the link and waits for its goroutines. If pushes are unanswered,
// they fail and the server sees a lost link.
func (l *link) Close() error {
	orderly := l.Retire()
	if !orderly {
		_ = l.conn.Close()
	}
	l.stop()
	<-l.senderDone
	err := op.Leave(orderly, l.conn)
	<-l.done
	return err
}

// arm sets the read deadline to the earliest deadline of the pending pushes.
func (l *link) arm() {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	if deadline := l.Earliest(); !deadline.Equal(l.armed) {
		l.armed = deadline
		_ = l.conn.SetReadDeadline(deadline) // fails only on a closed connection, whose reads fail too
	}
}

// send sends queued pushes until Close or the first error.
func (l *link) send() {
	defer close(l.senderDone)
	for {
		select {
		case <-l.quit:
			return
		case p := <-l.queue:
			if err := l.push(p); err != nil {
				l.Fail(err)
				_ = l.conn.Close()
				return
			}
		}
	}
}

// push sends the chunks of p.
func (l *link) push(p *push) error {
	batch, bucket := p.Batch, p.Spec.Index
	err := l.conn.SetWriteDeadline(p.Deadline)
	for k := 0; k < len(p.answered) && err == nil; k++ {
		if p.stage != nil {
			p.stage.Prepare(p.span(k))
		}
		g := l.chunkToSend(p, k)
		h := chunkHeader(wire.OpPush, batch, bucket, k, &g)
		err = l.conn.Post(&h, tensor.Int32Bytes(g.Rows), tensor.Float32Bytes(g.Values))
	}
	if err != nil {
		return l.conn.ExplainSend(err, "the push of "+op.Describe(batch, bucket), int64(l.Timeout))
	}
	return nil
}

// chunkToSend marks chunk k of p as sent and returns it. The result is a copy
// of the Gradient, not of its values. So a server that answers before it has
// the whole push cannot change it during the send.
func (l *link) chunkToSend(p *push, k int) tensor.Gradient {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	p.sent = k + 1
	return chunkOf(p.Gradient, k)
}

// readAnswers passes each frame of a server to read until an error, which ends
// the link.
func readAnswers(conn *wire.Conn, life *op.Life, read func(*wire.Header) error) {
	var h wire.Header
	for {
		err := conn.NextHeader(&h)
		if err == nil {
			err = read(&h)
		}
		if err != nil {
			life.Fail(conn.Explain(err, life.Awaited(), int64(life.Timeout)))
			return
		}
	}
}

func (l *link) receive() {
	defer close(l.done)
	readAnswers(l.conn, &l.Life, l.readAnswer)
	// The sender may still be reading a gradient. The sender must end before
	// the gradients' owners learn that they own them again.
	l.stop()
	_ = l.conn.Close()
	<-l.senderDone
	l.Finish()
}

// readAnswer reads the chunk of an answer that h announces.
func (l *link) readAnswer(h *wire.Header) error {
	p := op.At(l.pushes, int(h.Bucket))
	if h.Op != wire.OpAnswer || p == nil || !l.claim(p, h) {
		return fmt.Errorf(
			"%s sent operation %d of batch %d, bucket %d, from element %d on to %s, which has no such push in flight",
			l.conn.Peer(), h.Op, h.Batch, h.Bucket, h.Arg, l.Self)
	}
	g := p.Gradient
	if !p.Spec.Sparse {
		chunk := chunkOf(g, int(h.Arg/comm.ChunkElements))
		g = &chunk
	}
	if err := readGradient(l.conn, h, &p.Spec, g); err != nil {
		return err
	}
	if p.stage != nil {
		p.stage.Finish(p.span(int(h.Arg / comm.ChunkElements)))
	}
	if l.pulled(p) {
		l.Complete(&p.Operation)
		l.arm()
	}
	return nil
}

// claim marks the chunk that h announces as answered. claim returns false if
// the chunk was not sent or already has an answer.
func (l *link) claim(p *push, h *wire.Header) bool {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	k := h.Arg / comm.ChunkElements
	if !p.Pending() || p.Batch != h.Batch || h.Arg%comm.ChunkElements != 0 || k < 0 || k >= int64(p.sent) ||
		p.answered[k] {
		return false
	}
	p.answered[k] = true
	return true
}

// pulled records that a chunk of p has its answer, and reports whether it was
// the last chunk.
func (l *link) pulled(p *push) bool {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	if p.left--; p.left > 0 {
		return false
	}
	p.reset()
	return true
}
