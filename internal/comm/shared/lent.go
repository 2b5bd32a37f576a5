package shared

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/wire"
)

// lent is an end of a link whose buckets may lie in the memory of a device. The sides settle at set-up
// whether they do: who lends says so in its segment, who borrows in answer; then they exchange offers
// over the connection. A side that knows nothing of this leaves its word 0, and nothing is exchanged.
// In the end who has borrowed says that it has returned what it had, and the owner waits for that word:
// memory must not be freed while another process has it open.
type lent struct {
	end    comm.DeviceEnd   // nil unless this side can share
	spans  comm.SpanningEnd // end, in a group across devices; nil elsewhere
	by     string           // what spans them
	staged string           // why values are not left on the device; "" if they are

	mu   sync.Mutex // guards gone, and the segments while they are looked at
	gone bool       // the segments may be unmapped
}

// join makes the end, if there is a device, which lends buckets or is a server's.
func (l *lent) join(device comm.Device, specs []tensor.BucketSpec, buckets []*tensor.Bucket) {
	if device == nil {
		l.staged = "its own memory is not shared"
		return
	}
	var err error
	if l.end, err = device.Join(specs, buckets); err != nil {
		l.end, l.staged = nil, err.Error()
	}
}

// show says in a word of the own segment that buckets are lent.
func (l *lent) show(lends *atomic.Uint32) {
	if l.end != nil {
		lends.Store(1)
	}
}

// refuse notes why values are not left on the device, unless that is known already.
func (l *lent) refuse(format string, values ...any) {
	if l.staged == "" {
		l.staged = fmt.Sprintf(format, values...)
	}
}

// close ends the use of what was imported. Closing again does nothing.
func (l *lent) close() error {
	if l.end == nil {
		return nil
	}
	return l.end.Close()
}

// abort ends what the devices of a group that has failed still do for it.
func (l *lent) abort() {
	if l.spans != nil {
		l.spans.Abort()
	}
}

// over says that the link's segments go.
func (l *lent) over() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
}

// look calls f, which reads or writes words of segments, unless they are gone.
func (l *lent) look(f func()) (there bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.gone {
		f()
	}
	return !l.gone
}

// returnGrace is how long the end of a broken link waits for peers, which may be dead, to return memory.
const returnGrace = 200 * time.Millisecond

// awaitReturn waits until missing names nobody who has this rank's memory open. Whoever is gone has it
// no more.
func (l *lent) awaitReturn(self string, timeout time.Duration, ended func() bool, missing func() []string) error {
	start := time.Now()
	for {
		var names []string
		if !l.look(func() { names = missing() }) || len(names) == 0 {
			return nil
		}
		waited := time.Since(start)
		if ended() && waited > returnGrace {
			return nil
		}
		if waited > timeout {
			return &comm.WaitError{Waiter: self, For: names, What: "the end of their use of its buckets on the device", Seconds: timeout.Seconds()}
		}
		time.Sleep(time.Millisecond)
	}
}

// offered bounds an offer in bytes: handles of memory and marks of each bucket, as text.
func offered(buckets int) uint64 { return 4096 + 1024*uint64(buckets) } // #nosec G115 -- a count

// sendOffer sends an offer, or why there is none.
func sendOffer(conn *wire.Conn, offer []byte, why string) error {
	h := wire.Header{Op: wire.OpOffer}
	if why != "" {
		h.Flags, offer = 1, []byte(why)
	}
	return conn.Send(&h, offer)
}

func receiveOffer(conn *wire.Conn, buckets int) (offer []byte, why string, err error) {
	var h wire.Header
	if err := conn.ReadHeader(&h); err != nil {
		return nil, "", err
	}
	if h.Op != wire.OpOffer || h.Payload > offered(buckets) {
		return nil, "", fmt.Errorf("%s sent operation %d of %d bytes to %s where an offer of at most %d is due", conn.Peer(), h.Op, h.Payload, conn.Self(), offered(buckets))
	}
	offer = make([]byte, h.Payload)
	if err := conn.ReadFull(offer); err != nil {
		return nil, "", err
	}
	if h.Flags != 0 {
		return nil, string(offer), nil
	}
	return offer, "", nil
}

// lend offers the trainer's buckets to the server, and imports what that offers.
func (l *link) lend(terms *layout.TermsLine, buckets int) error {
	conn, lent := l.client.conn, &l.lent
	if lent.end == nil {
		return nil
	}
	if terms.Borrows.Load() == 0 {
		lent.refuse("%s takes no buckets of a device", conn.Peer())
		return nil
	}
	if err := sendOffer(conn, lent.end.Offer(), ""); err != nil {
		return err
	}
	offer, why, err := receiveOffer(conn, buckets)
	if err != nil {
		return err
	}
	if why == "" {
		if _, err := lent.end.Import(0, offer); err != nil {
			why = err.Error()
		}
	}
	if why != "" {
		lent.refuse("%s and %s: %s", l.Self, conn.Peer(), why)
	}
	return nil
}

// Staged implements comm.DeviceLink.
func (l *link) Staged(int) string { return l.lent.staged }

// Library implements comm.DeviceLink.
func (*link) Library() string { return "" }

// Release implements comm.DeviceLink.
func (l *link) Release(timeout time.Duration) error {
	return errors.Join(l.lent.close(), l.lent.awaitReturn(l.Self, timeout, l.Ended, func() []string {
		if terms := layout.PushTerms(l.client.control); terms.Borrows.Load() == 1 && terms.Returned.Load() == 0 {
			return []string{l.client.conn.Peer()}
		}
		return nil
	}))
}

// takesLent answers a trainer that lends its buckets.
func (p *port) takesLent(t *trainer) {
	terms := layout.PushTerms(t.control)
	switch {
	case p.device == nil:
		t.lent.staged = "the server takes no buckets of a device"
	case terms.Lends.Load() == 0:
		t.lent.staged = "it does not share its own"
	default:
		terms.Borrows.Store(1)
	}
}

// borrow imports the buckets that a trainer lends.
func (p *port) borrow(i int, conn *wire.Conn) error {
	t := p.trainers[i]
	if layout.PushTerms(t.control).Borrows.Load() == 0 || t.lent.staged != "" {
		return nil
	}
	offer, why, err := receiveOffer(conn, len(p.specs))
	if err != nil {
		return err
	}
	t.lent.staged = why
	if t.lent.staged == "" {
		t.lent.join(p.device, p.specs, nil)
	}
	if t.lent.end == nil {
		return sendOffer(conn, nil, t.lent.staged)
	}
	values, err := t.lent.end.Import(0, offer)
	if err == nil && len(values) != len(p.specs) {
		err = fmt.Errorf("%d buckets are offered, of %d", len(values), len(p.specs))
	}
	if err != nil {
		t.lent.staged = err.Error()
		return errors.Join(t.lent.close(), sendOffer(conn, nil, t.lent.staged))
	}
	for k, a := range t.slots {
		a.lent = tensor.BucketIn(values[k], a.places[layout.InStore].Shown, *a.spec)
	}
	return sendOffer(conn, t.lent.end.Offer(), "")
}

// Staged implements comm.DeviceLink.
func (p *port) Staged(trainer int) string { return p.trainers[trainer].lent.staged }

// Library implements comm.DeviceLink.
func (*port) Library() string { return "" }

// Release implements comm.DeviceLink: a server lends nothing, and waits for nobody.
func (p *port) Release(time.Duration) (err error) {
	for _, t := range p.trainers {
		err = errors.Join(err, t.lent.close())
		t.lent.look(func() { layout.PushTerms(t.control).Returned.Store(1) })
	}
	return err
}
