// Package stream makes links of frames, over whatever network: a header and a payload that
// goes from the kernel straight into place.
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

// link is the trainer's side of a push/pull link over a Conn: one
// goroutine sends pushes in the order of the calls, one reads answers, in
// whatever order they come, straight into the gradients they replace.
//
// A dense push travels as one frame per chunk, one after the other, and the
// server may answer a chunk while the next ones are still under way. A sparse one
// is one frame. A push of n chunks and its answer cost 2n frames: HeaderSize
// bytes each, and 4 bytes per element and way, or per row and way 4 bytes and
// 4*Width.
type link struct {
	op.Buckets
	conn       *wire.Conn
	pushes     []*push // by bucket index
	queue      chan *push
	armed      time.Time // the read deadline in force; guarded by Mu
	quit       chan struct{}
	stop       func() // closes quit
	senderDone chan struct{}
	done       chan struct{}
}

// push is the pushes of one bucket, one after the other. The link's Mu guards it.
type push struct {
	*op.Reduction
	stage    op.Stage // of a trainer that pushes for others too; nil otherwise
	sent     int      // chunks sent or being sent: the server cannot have answered others
	answered []bool   // by chunk
	left     int      // chunks not yet answered
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

// newLink starts a link that carries the given buckets over conn, which
// it owns from now on. Each push must be answered within timeout.
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

// PushPull implements PushPuller. The future's error is a *WaitError at the
// deadline and a *PeerError if the server is gone; either ends the link.
func (l *link) PushPull(batch int64, b *tensor.Bucket) *comm.Future {
	r, err := l.Begin(batch, b)
	if err != nil {
		return comm.Completed(err)
	}
	return l.start(r, nil)
}

// start sends a push that is pending, from its stage if it has one.
func (l *link) start(r *op.Reduction, stage op.Stage) *comm.Future {
	p := l.pushes[r.Spec.Index]
	p.stage = stage
	l.arm()
	l.queue <- p // has room: each bucket is in it once at most
	return r.Future()
}

// Close ends the link and waits for its goroutines. With pushes unanswered,
// which then fail, that is no orderly end and the server sees a lost link.
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

// arm sets the read deadline to the earliest pending push's.
func (l *link) arm() {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	if deadline := l.Earliest(); !deadline.Equal(l.armed) {
		l.armed = deadline
		_ = l.conn.SetReadDeadline(deadline) // fails only once closed, and then reads fail too
	}
}

// send runs until Close or the first error.
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

// chunkToSend notes that chunk k of p goes out and returns it. It is a copy: a server
// that answers before it has the whole push must not pull it away.
func (l *link) chunkToSend(p *push, k int) tensor.Gradient {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	p.sent = k + 1
	return chunkOf(p.Gradient, k)
}

// readAnswers has read take each frame of a server until one fails, which ends the link.
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
	// The sender may still read a gradient, so it ends before their owners
	// learn that they have them back.
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

// claim notes that the chunk that h announces is answered now. It is false if that was not
// sent, or is answered.
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

// pulled notes that a chunk of p has its answer and says whether it was the last.
func (l *link) pulled(p *push) bool {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	if p.left--; p.left > 0 {
		return false
	}
	p.reset()
	return true
}
