// Package lent handles buckets that one side of a link lends in device memory.
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

// End is one end of a link whose buckets may lie in device memory. The sides
// decide during set-up. The lender sets a word in its segment, and a borrowing
// server answers with another word. Then they exchange offers over the
// connection. An older side leaves its word 0, and nothing is exchanged.
//
// At the end the borrower announces that it has returned the memory, and the
// owner waits for that announcement: memory must not be freed while another
// process has it open.
type End struct {
	Device  comm.DeviceEnd   // nil unless this side can share
	Spans   comm.SpanningEnd // Device in a group across devices; otherwise nil
	Library string           // library that spans the devices
	Staged  string           // why values leave the device; "" if they stay there

	mu   sync.Mutex // guards gone, and the segments while Look's f uses them
	gone bool       // the segments may be unmapped
}

// Join makes this side's end on the device, if device is not nil. buckets are
// the lent buckets; a server lends none.
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

// Show announces, in a word of this side's segment, that it lends buckets.
func (l *End) Show(lends *atomic.Uint32) {
	if l.Device != nil {
		lends.Store(1)
	}
}

// Refuse records why values leave the device, unless a reason is known already.
func (l *End) Refuse(format string, values ...any) {
	if l.Staged == "" {
		l.Staged = fmt.Sprintf(format, values...)
	}
}

// Close ends the use of imported memory. Closing again does nothing.
func (l *End) Close() error {
	if l.Device == nil {
		return nil
	}
	return l.Device.Close()
}

// Abort ends a failed group's work on the devices.
func (l *End) Abort() {
	if l.Spans != nil {
		l.Spans.Abort()
	}
}

// Over announces that the link's segments are about to be unmapped.
func (l *End) Over() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = true
}

// Look calls f, which may read or write words of segments. Look returns false,
// without calling f, if the segments may be unmapped already.
func (l *End) Look(f func()) (there bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.gone {
		f()
	}
	return !l.gone
}

// returnGrace is the maximum wait for peers of a broken link to return memory,
// since they may be dead.
const returnGrace = 200 * time.Millisecond

// AwaitReturn waits until no peer has this rank's memory open. missing lists
// the peers that do. A peer that is gone has closed the memory.
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

// offered is the maximum size of an offer in bytes: handles of memory and marks
// for each bucket, as text.
func offered(buckets int) uint64 { return 4096 + 1024*uint64(buckets) } // #nosec G115 -- a count

// SendOffer sends an offer, or the reason why there is none.
func SendOffer(conn *wire.Conn, offer []byte, why string) error {
	h := wire.Header{Op: wire.OpOffer}
	if why != "" {
		h.Flags, offer = 1, []byte(why)
	}
	return conn.Send(&h, offer)
}

// ReceiveOffer receives the peer's SendOffer, for this many buckets.
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
