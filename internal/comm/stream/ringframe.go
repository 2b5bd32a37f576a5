package stream

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/wire"
)

const (
	// inlineBytes is the largest payload that the ring's own goroutine sends.
	// On average one frame per link is in transit, and every socket buffer can
	// hold a frame of this size, so the members never all block at once.
	inlineBytes = 16 << 10
	// ringMean is the flag of an average's frames.
	ringMean = 1
	// verdictGrace is the time after a failed send in which the receiver may
	// find the cause. A neighbour that disagrees and hangs up has often sent
	// its own frame first.
	verdictGrace = 100 * time.Millisecond
)

// ringFrame is a frame for the next member.
type ringFrame struct {
	header       wire.Header
	rows, values []byte
}

// frameOf completes h to a header for op.
func frameOf(h wire.Header, op *op.Reduction) wire.Header {
	h.Batch, h.Bucket = op.Batch, int32(op.Spec.Index) // #nosec G115 -- far fewer than 2^31
	if op.Mean {
		h.Flags = ringMean
	}
	return h
}

// post sends a frame to the next member while the caller goes on to receive;
// outcome waits for the frame. Small frames are sent before post returns,
// unless a large frame is queued.
func (r *circle) post(h wire.Header, rows []int32, values []float32) {
	h.Rows = int32(len(rows)) // #nosec G115 -- rows are int32
	f := ringFrame{header: h, rows: tensor.Int32Bytes(rows), values: tensor.Float32Bytes(values)}
	switch {
	case r.handed || len(f.rows)+len(f.values) > inlineBytes:
		r.handed = true
		r.unsent.Add(1)
		r.outbox <- f
	case r.failed == nil:
		r.failed = r.transmit(&f)
	}
}

// send sends the frames in the outbox. After an error it drops the task's
// remaining frames.
func (r *circle) send() {
	for f := range r.outbox {
		if r.broken == nil {
			r.broken = r.transmit(&f)
		}
		r.unsent.Done()
	}
}

func (r *circle) transmit(f *ringFrame) error {
	err := r.next.Post(&f.header, f.rows, f.values)
	if err != nil {
		_ = r.prev.SetReadDeadline(time.Now().Add(verdictGrace))
	}
	return err
}

// drain waits until all frames are sent or one has failed, and records a
// failure. If no frame went to the outbox, which is the usual case, drain does
// not wait for the sender: two wake-ups take longer than sending a small frame.
func (r *circle) drain() {
	if !r.handed {
		return
	}
	r.unsent.Wait()
	if r.failed == nil {
		r.failed = r.broken
	}
	r.handed, r.broken = false, nil
}

// outcome waits until all frames of an operation are sent. The argument
// received is the error of the operation's receives. outcome returns the error
// of the side that failed first.
func (r *circle) outcome(o *op.Reduction, received error) error {
	if received != nil {
		_ = r.next.SetWriteDeadline(time.Now())
	}
	r.drain()
	sent := r.failed
	r.failed = nil
	what := "a part of "
	if o.Spec.Index == op.BarrierIndex {
		what = ""
	}
	cutShort := errors.Is(received, os.ErrDeadlineExceeded) && time.Now().Before(o.Deadline)
	if sent != nil && (received == nil || cutShort) {
		return r.next.ExplainSend(sent, what+o.String(), int64(r.timeout))
	}
	if received != nil {
		return r.prev.Explain(received, what+o.String(), int64(r.timeout))
	}
	return nil
}

// expect reads the header of a frame from the previous member and checks it
// against want.
func (r *circle) expect(o *op.Reduction, want wire.Header) (h wire.Header, err error) {
	if err = r.prev.NextHeader(&h); err != nil {
		return h, err
	}
	from := r.prev.Peer()
	switch {
	case h.Op == wire.OpBye:
		return h, &comm.PeerError{Waiter: r.self, Peer: from, What: o.String(), Err: op.ErrLeft}
	case h.Batch != want.Batch || h.Bucket != want.Bucket:
		return h, fmt.Errorf("%s runs %s but %s sent %s: ranks must reduce the same buckets in the same order", r.self,
			o, from, op.Describe(h.Batch, int(h.Bucket)))
	case h.Flags != want.Flags && h.Op == want.Op:
		return h, fmt.Errorf("%s and %s disagree whether %s is an average or a sum: ranks must run the same operations",
			r.self, from, o)
	case h.Op != want.Op || h.Arg != want.Arg || h.Arg2 != want.Arg2:
		return h,
			fmt.Errorf("%s is at operation %d, step %d.%d of %s but %s sent operation %d, step %d.%d: ranks must agree on the operation, the buckets and the size of the ring",
				r.self, want.Op, want.Arg, want.Arg2, o, from, h.Op, h.Arg, h.Arg2)
	}
	return h, nil
}

// readValues reads the payload of h, whose size must match values.
func (r *circle) readValues(op *op.Reduction, h *wire.Header, values []float32) error {
	if err := r.expectBytes(op, h, len(values)); err != nil {
		return err
	}
	return r.prev.Fill(tensor.Float32Bytes(values))
}

func (r *circle) expectBytes(op *op.Reduction, h *wire.Header, elements int) error {
	if want := 4 * uint64(elements); h.Payload != want { // #nosec G115 -- a length
		return fmt.Errorf(
			"%s expects %d bytes of %s but %s sent %d: ranks must agree on the buckets and on the size of the ring",
			r.self, want, op, r.prev.Peer(), h.Payload)
	}
	return nil
}
