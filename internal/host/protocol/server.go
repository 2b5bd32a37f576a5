package protocol

import (
	"errors"
	"fmt"
	"net"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

// Server represents a gradient server in a companion. A push stays in the memory where it arrived,
// which the part maps; the part only gets a header. The reader answers pushes as the part says. A
// push costs four frames. A push costs a copy only if its answer lies in other memory.
type Server struct {
	link     *link
	trainers []string
	specs    []tensor.BucketSpec
	slots    []pushSlot // all buckets of trainer 0, then of trainer 1, ...: the order of tensor numbers
	asking   asking
}

var _ sdk.Server = (*Server)(nil)

// pushSlot is the state of one trainer's pushes to one bucket, which come one after the other. The
// link's mu guards debt, push and pending. shown belongs to the caller of Receive; taken and given
// belong to the reader.
//
// The part's message that it took a push may arrive after the answer, and so after the trainer's
// next push.
type pushSlot struct {
	debt                     // the message that the part took or answered the push
	push    sdk.Push         // the last push
	pending bool             // whether the last push has no answer yet
	taken   int64            // number of the last push that the part took
	places  []*tensor.Bucket // memory in which pushes can arrive
	shown   *tensor.Bucket   // the place last announced to the part
	given   tensor.Gradient  // the answer to a push; a sparse answer has rows of its own
}

// mostOwn is the maximum number of tensors that the part may announce as its own.
const mostOwn = 1 << 20

// NewServer connects to a companion with a server. The trainers will push the buckets of specs to
// the server. NewServer measures the median round trip of a no-op call. Call Take next.
func NewServer(p *process.Process, peer process.Peer, specs []tensor.BucketSpec,
	trainers []string) (s *Server, tripNS int64, err error) {
	s = &Server{asking: newAsking(), trainers: trainers, specs: specs,
		slots: make([]pushSlot, len(trainers)*len(specs))}
	announces := map[role]int{roleOwn: mostOwn, roleOwnRows: mostOwn}
	if s.link, err = dial(p, peer, kind{announces: announces, take: s.take, ended: s.ended}); err != nil {
		return nil, 0, err
	}
	for i := range s.slots {
		slot, spec := &s.slots[i], &specs[i%len(specs)]
		if spec.Sparse {
			slot.given = tensor.Gradient{Rows: make([]int32, 0, spec.Capacity), Width: spec.Width}
		}
		s.link.owes(&slot.debt)
	}
	tripNS, err = s.link.ping()
	return s, tripNS, err
}

// Take makes the server take the pushes that arrive in these stores, listed by trainer. The stores
// lie in segments.
func (s *Server) Take(stores [][]*comm.Store) error {
	for t := range stores {
		for _, store := range stores[t] {
			if store.Segment == nil {
				return fmt.Errorf("the pushes of %s are not in memory that can be passed to %s", s.trainers[t],
					s.link.conn.Peer())
			}
			if err := s.link.share(store.Segment, false, 0); err != nil {
				return err
			}
			for b := range s.specs {
				slot := &s.slots[t*len(s.specs)+b]
				slot.places = append(slot.places, store.Buckets[b])
			}
		}
	}
	return nil
}

// Receive implements sdk.Server. Receive returns once the push has been sent to the part. The part
// must take the push within the timeout.
func (s *Server) Receive(p sdk.Push) error {
	index := p.Trainer*len(s.specs) + p.Bucket
	slot := &s.slots[index]
	if err := s.show(index, p.Gradient); err != nil {
		return err
	}
	slot.shown.ShowRows(p.Gradient.Rows)
	h := wire.Header{
		Op: opReceive, Batch: p.Batch, Bucket: int32(p.Bucket), // #nosec G115 -- an index
		Rows: int32(len(p.Gradient.Rows)), Arg: int64(p.Trainer), Arg2: p.Number, // #nosec G115 -- rows are int32
	}
	l := s.link
	l.mu.Lock()
	err := l.err
	if err == nil {
		slot.push, slot.pending = p, true
		l.expect(&slot.debt, &h)
	}
	l.mu.Unlock()
	if err != nil {
		return err
	}
	return l.send(&h)
}

// show tells the part where a push lies, unless the push lies in the same place as the last one.
// Usually the place is the same.
func (s *Server) show(index int, g *tensor.Gradient) error {
	slot := &s.slots[index]
	if slot.shown != nil && slot.shown.Gradient.SameValues(g) {
		return nil
	}
	for _, b := range slot.places {
		if !b.Gradient.SameValues(g) {
			continue
		}
		slot.shown = b
		if b.Sparse {
			rows := tensor.Int32Bytes(b.Shown)
			if err := s.link.show(rolePushRows, index, rows, toLine(rows)); err != nil {
				return err
			}
		}
		values := tensor.Float32Bytes(b.Gradient.Values[:cap(b.Gradient.Values)])
		return s.link.show(rolePush, index, values, toLine(values))
	}
	return fmt.Errorf("a push of bucket %d lies in no memory of %s", index%len(s.specs), s.link.conn.Peer())
}

// Reset implements sdk.Server. The core resets the part. The ping ensures that the part has seen
// all earlier frames before its reset.
func (s *Server) Reset() {
	if _, err := s.link.call(&wire.Header{Op: opPing}); err != nil {
		s.link.process.Fail(err)
	}
}

// take takes a frame of the part.
func (s *Server) take(h *wire.Header) error {
	if h.Op != opReceived && h.Op != opAnswer {
		return s.link.unasked(h)
	}
	if h.Arg < 0 || h.Arg >= int64(len(s.trainers)) || h.Bucket < 0 || int(h.Bucket) >= len(s.specs) {
		return s.link.wrong("sent %s of bucket %d and trainer %d, but has buckets 0 to %d and trainers 0 to %d",
			nameOf(h.Op), h.Bucket, h.Arg, len(s.specs)-1, len(s.trainers)-1)
	}
	slot := &s.slots[int(h.Arg)*len(s.specs)+int(h.Bucket)]
	if h.Op == opAnswer {
		return s.answer(h, slot)
	}
	l := s.link
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.Arg2 != slot.taken+1 || h.Arg2 > slot.push.Number {
		return l.wrong("received push %d of bucket %d by %s, which is not on its way", h.Arg2, h.Bucket,
			s.trainers[h.Arg])
	}
	if slot.taken++; h.Arg2 == slot.push.Number {
		s.paid(slot)
	}
	return nil
}

// paid records that the part has taken the last push. The caller holds the link's mu.
func (s *Server) paid(slot *pushSlot) {
	if !slot.due.IsZero() {
		s.link.came(&slot.debt)
	}
}

// answer answers a push as the part says. If there is no push to answer, Role of package server
// gets the answer and reports the error.
func (s *Server) answer(h *wire.Header, slot *pushSlot) error {
	s.link.mu.Lock()
	p, pending := slot.push, slot.pending && slot.push.Number == h.Arg2
	s.link.mu.Unlock()
	if h.Arg2 < 1 || h.Arg2 > p.Number {
		return s.link.wrong("answered push %d of bucket %d by %s, which has pushed it %d times", h.Arg2, h.Bucket,
			s.trainers[h.Arg], p.Number)
	}
	if !pending {
		p.Number = h.Arg2
		return p.Answer(p.Gradient)
	}
	g, err := s.answered(h, slot)
	if err != nil {
		return err
	}
	s.link.mu.Lock()
	slot.pending = false
	s.paid(slot)
	s.link.mu.Unlock()
	if err := p.Answer(g); err != nil {
		return err
	}
	if role(h.Flags) == roleOwn {
		s.link.post(&wire.Header{Op: opAnswered, Bucket: h.Bucket, Arg: h.Arg, Arg2: h.Arg2})
	}
	return nil
}

// answered returns the part's answer. The answer lies in the memory of an unanswered push or in the
// part's own memory. answered copies the rows, so that the receiver checks indices that the part
// can no longer change. Errors name the push.
func (s *Server) answered(h *wire.Header, slot *pushSlot) (*tensor.Gradient, error) {
	wrong := func(format string, args ...any) (*tensor.Gradient, error) {
		return nil, s.link.wrong("answered batch %d, bucket %d of %s with %s", slot.push.Batch, h.Bucket,
			s.trainers[h.Arg], fmt.Sprintf(format, args...))
	}
	spec := &s.specs[h.Bucket]
	if index := int32(h.Arg)*int32(len(s.specs)) + h.Bucket; !s.link.intact(rolePush, index) || !s.link.intact(rolePushRows, index) { // #nosec G115 -- of a slot
		return nil, s.link.wrong("wrote past the end of batch %d, bucket %d of %s", slot.push.Batch, h.Bucket,
			s.trainers[h.Arg])
	}
	g, n, rows := &slot.given, spec.Elements, int(h.Rows)
	switch {
	case spec.Sparse && (rows < 0 || rows > spec.Capacity):
		return wrong("%d rows, but there is room for %d", rows, spec.Capacity)
	case spec.Sparse:
		n = rows * spec.Width
	case rows != 0:
		return wrong("%d rows, but the bucket is dense", rows)
	}
	g.Rows = g.Rows[:0]
	switch role(h.Flags) {
	case roleOwn:
		if h.Batch < 0 || h.Batch >= mostOwn {
			return wrong("tensor %d of its own, but the highest number is %d", h.Batch, mostOwn-1)
		}
		values, err := s.link.view(roleOwn, int32(h.Batch), int64(n)) // #nosec G115 -- below mostOwn
		if err == nil && spec.Sparse {
			var shown []byte
			shown, err = s.link.view(roleOwnRows, int32(h.Batch), int64(rows)) // #nosec G115 -- likewise
			g.Rows = append(g.Rows, tensor.ViewOf[int32](shown, len(shown)/4)...)
		}
		g.Values = tensor.ViewFloat32(values)
		return g, err
	case rolePush:
		if h.Batch < 0 || h.Batch >= int64(len(s.slots)) {
			return wrong("push memory %d, but the memories are 0 to %d", h.Batch, len(s.slots)-1)
		}
		from := &s.slots[h.Batch]
		s.link.mu.Lock()
		pending, memory := from.pending, from.push.Gradient
		s.link.mu.Unlock()
		if !pending {
			return wrong(
				"push memory %d, whose push is answered: answer the trainer last in whose memory the answer is",
				h.Batch)
		}
		of := from.bucket(memory)
		if n > cap(memory.Values) || rows > len(of.Shown) {
			return wrong("push memory %d, which has room for %d values", h.Batch, cap(memory.Values))
		}
		g.Values, g.Rows = memory.Values[:n], append(g.Rows, of.Shown[:rows]...)
		return g, nil
	default:
		return wrong("tensor %d of role %d, which is neither a push nor the part's own", h.Batch, h.Flags)
	}
}

// bucket returns the place in which a push lies.
func (s *pushSlot) bucket(g *tensor.Gradient) *tensor.Bucket {
	for _, b := range s.places {
		if b.Gradient.SameValues(g) {
			return b
		}
	}
	return nil // unreachable: Receive refuses pushes elsewhere
}

// ended reports why the link ended, if a push is waiting for the part. The link itself reports
// other faults of the part. A part without open pushes may end first.
func (s *Server) ended(err error) {
	if errors.Is(err, net.ErrClosed) {
		return
	}
	s.link.mu.Lock()
	waiting := false
	for i := range s.slots {
		waiting = waiting || s.slots[i].pending || !s.slots[i].due.IsZero()
	}
	s.link.mu.Unlock()
	if waiting {
		s.link.process.Fail(err)
	}
}
