// Package lent has what both sides of a link do about buckets that one of them lends in the memory of a device.
package lent

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
)

// End is an end of a link whose buckets may lie in the memory of a device. The sides settle at set-up
// whether they do: who lends says so in its segment, who borrows in answer; then they exchange offers
// Over the connection. A side that knows nothing of this leaves its word 0, and nothing is exchanged.
// In the end who has borrowed says that it has returned what it had, and the owner waits for that word:
// memory must not be freed while another process has it open.
type End struct {
	Device  comm.DeviceEnd   // nil unless this side can share
	Spans   comm.SpanningEnd // Device, in a group across devices; nil elsewhere
	Library string           // what spans them
	Staged  string           // why values are not left on the device; "" if they are

	mu   sync.Mutex // guards gone, and the segments while they are looked at
	gone bool       // the segments may be unmapped
}

// Join makes the end, if there is a device, which lends buckets or is a server's.
func (l *End) Join(device comm.Device, specs []tensor.BucketSpec, buckets []*tensor.Bucket) {
	if device == nil {
		l.Staged = "its own memory is not shared"
		return
	}
	var err error
	if l.Device, err = device.Join(specs, buckets); err != nil {
		l.Device, l.Staged = nil, err.Error()
	}
}

// Show says in a word of the own segment that buckets are lent.
func (l *End) Show(lends *atomic.Uint32) {
	if l.Device != nil {
		lends.Store(1)
	}
}

// Refuse notes why values are not left on the device, unless that is known already.
func (l *End) Refuse(format string, values ...any) {
	if l.Staged == "" {
		l.Staged = fmt.Sprintf(format, values...)
	}
}

// Close ends the use of what was imported. Closing again does nothing.
func (l *End) Close() error {
	if l.Device == nil {
		return nil
	}
	return l.Device.Close()
}

// Abort ends what the devices of a group that has failed still do for it.
func (l *End) Abort() {
	if l.Spans != nil {
		l.Spans.Abort()
	}
}

// Over says that the link's segments go.
func (l *End) Over() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
}

// Look calls f, which reads or writes words of segments, unless they are gone.
func (l *End) Look(f func()) (there bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.gone {
		f()
	}
	return !l.gone
}

// returnGrace is how long the end of a broken link waits for peers, which may be dead, to return memory.
const returnGrace = 200 * time.Millisecond

// AwaitReturn waits until missing names nobody who has this rank's memory open. Whoever is gone has it
// no more.
func (l *End) AwaitReturn(self string, timeout time.Duration, ended func() bool, missing func() []string) error {
	start := time.Now()
	for {
		var names []string
		if !l.Look(func() { names = missing() }) || len(names) == 0 {
			return nil
		}
		waited := time.Since(start)
		if ended() && waited > returnGrace {
			return nil
		}
		if waited > timeout {
			what := "the end of their use of its buckets on the device"
			return &comm.WaitError{Waiter: self, For: names, What: what, Seconds: timeout.Seconds()}
		}
		time.Sleep(time.Millisecond)
	}
}

// offered bounds an offer in bytes: handles of memory and marks of each bucket, as text.
func offered(buckets int) uint64 { return 4096 + 1024*uint64(buckets) } // #nosec G115 -- a count

// SendOffer sends an offer, or why there is none.
func SendOffer(conn *wire.Conn, offer []byte, why string) error {
	h := wire.Header{Op: wire.OpOffer}
	if why != "" {
		h.Flags, offer = 1, []byte(why)
	}
	return conn.Send(&h, offer)
}

// ReceiveOffer receives what the peer sends by SendOffer, for so many buckets.
func ReceiveOffer(conn *wire.Conn, buckets int) (offer []byte, why string, err error) {
	var h wire.Header
	if err := conn.ReadHeader(&h); err != nil {
		return nil, "", err
	}
	if h.Op != wire.OpOffer || h.Payload > offered(buckets) {
		return nil, "", fmt.Errorf("%s sent operation %d of %d bytes to %s where an offer of at most %d is due",
			conn.Peer(), h.Op, h.Payload, conn.Self(), offered(buckets))
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
