package comm

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/psbench/psbench/comm/vec"
)

const (
	// inlineBytes is the largest payload that the ring's own goroutine sends.
	// On average one frame per link is under way and every socket buffer holds
	// a frame of this size, so the members never all block at once.
	inlineBytes = 16 << 10
	// verdictGrace is how long a failed send leaves the receive to find out
	// why: a neighbour that disagreed and hung up has often sent its own frame.
	verdictGrace = 100 * time.Millisecond
)

var errLeft = errors.New("it left the ring")

// ringJob is a frame for the next member.
type ringJob struct {
	header       Header
	rows, values []byte
}

// reduceDense sums a dense bucket in place. In step s of reduce-scatter member
// p sends chunk p-s and adds what it receives to chunk p-s-1; it ends with the
// whole sum of chunk p+1, which starts the all-gather.
func (r *Ring) reduceDense(op *operation) error {
	p, t := r.position, r.size
	for step := range t - 1 {
		r.start(op, opScatter, step, nil, r.chunk(op, p-step))
		if err := r.settle(op, r.receiveSum(op, step, r.chunk(op, p-step-1))); err != nil {
			return err
		}
	}
	for step := range t - 1 {
		r.start(op, opGather, step, nil, r.chunk(op, p+1-step))
		if err := r.settle(op, r.receiveCopy(op, step, r.chunk(op, p-step))); err != nil {
			return err
		}
	}
	return nil
}

// chunk is the i-th of T nearly equal pieces of a dense gradient, i modulo T.
func (r *Ring) chunk(op *operation, i int) []float32 {
	values, t := op.gradient.Values, r.size
	i = (i%t + t) % t
	return values[i*len(values)/t : (i+1)*len(values)/t]
}

func (r *Ring) receiveSum(op *operation, step int, chunk []float32) error {
	h, err := r.expect(op, opScatter, step)
	if err != nil {
		return err
	}
	if err := r.expectBytes(op, &h, chunk); err != nil {
		return err
	}
	for len(chunk) > 0 {
		block := r.block[:min(len(r.block), len(chunk))]
		if err := r.prev.readFull(Float32Bytes(block)); err != nil {
			return err
		}
		vec.Add(chunk[:len(block)], block)
		chunk = chunk[len(block):]
	}
	return nil
}

func (r *Ring) receiveCopy(op *operation, step int, chunk []float32) error {
	h, err := r.expect(op, opGather, step)
	if err != nil {
		return err
	}
	if err := r.expectBytes(op, &h, chunk); err != nil {
		return err
	}
	return r.prev.readFull(Float32Bytes(chunk))
}

// reduceSparse gathers the rows of all members and replaces the gradient by
// their sum. In step s member p sends on the part of member p-s.
func (r *Ring) reduceSparse(op *operation) error {
	p, t := r.position, r.size
	for i := range r.parts {
		r.parts[i].Width = op.spec.Width
	}
	if err := r.parts[p].CopyFrom(op.gradient); err != nil {
		return err
	}
	for step := range t - 1 {
		own, other := &r.parts[(p-step+t)%t], &r.parts[(p-step-1+t)%t]
		r.start(op, opRows, step, own.Rows, own.Values)
		h, err := r.expect(op, opRows, step)
		if err == nil {
			err = readGradient(r.prev, &h, &op.spec, other)
		}
		if err := r.settle(op, err); err != nil {
			return err
		}
	}
	r.merger.Reset()
	for i := range r.parts {
		r.merger.Add(&r.parts[i])
	}
	if err := r.merger.Sum(op.gradient); err != nil {
		return fmt.Errorf("%s, %s: %w", r.self, op, err)
	}
	return nil
}

// start sends a frame to the next member while the caller receives; settle
// ends the step.
func (r *Ring) start(op *operation, kind Op, step int, rows []int32, values []float32) {
	job := ringJob{
		header: Header{Op: kind, Batch: op.batch, Bucket: int32(op.spec.Index), Rows: int32(len(rows)), Arg: int64(step)}, // #nosec G115 -- rows are int32
		rows:   Int32Bytes(rows), values: Float32Bytes(values),
	}
	if len(job.rows)+len(job.values) <= inlineBytes {
		r.sent <- r.transmit(&job)
	} else {
		r.jobs <- job
	}
}

func (r *Ring) send() {
	for job := range r.jobs {
		r.sent <- r.transmit(&job)
	}
}

func (r *Ring) transmit(job *ringJob) error {
	err := r.next.post(&job.header, job.rows, job.values)
	if err != nil {
		_ = r.prev.SetReadDeadline(time.Now().Add(verdictGrace))
	}
	return err
}

// settle waits for the send of a step whose receive ended with received, and
// returns the error of the step: that of the side that failed first.
func (r *Ring) settle(op *operation, received error) error {
	if received != nil {
		_ = r.next.SetWriteDeadline(time.Now())
	}
	sent := <-r.sent
	cutShort := errors.Is(received, os.ErrDeadlineExceeded) && time.Now().Before(op.deadline)
	if sent != nil && (received == nil || cutShort) {
		return r.next.explainSend(sent, "a part of "+op.String(), int64(r.timeout))
	}
	if received != nil {
		return r.prev.explain(received, "a part of "+op.String(), int64(r.timeout))
	}
	return nil
}

// expect reads the header of a step's frame from the previous member.
func (r *Ring) expect(op *operation, kind Op, step int) (h Header, err error) {
	if err = r.prev.readHeader(&h); err != nil {
		return h, err
	}
	from := r.prev.peer
	switch {
	case h.Op == opBye:
		return h, &PeerError{Waiter: r.self, Peer: from, What: op.String(), Err: errLeft}
	case h.Batch != op.batch || int(h.Bucket) != op.spec.Index:
		return h, fmt.Errorf("%s runs %s but %s sent batch %d, bucket %d: ranks must reduce the same buckets in the same order", r.self, op, from, h.Batch, h.Bucket)
	case h.Op != kind || h.Arg != int64(step):
		return h, fmt.Errorf("%s is at operation %d, step %d of %s but %s sent operation %d, step %d: ranks must agree on the buckets and on the size of the ring", r.self, kind, step, op, from, h.Op, h.Arg)
	}
	return h, nil
}

func (r *Ring) expectBytes(op *operation, h *Header, chunk []float32) error {
	if want := uint64(4 * len(chunk)); h.Payload != want {
		return fmt.Errorf("%s expects %d bytes of %s but %s sent %d: ranks must agree on the buckets and on the size of the ring", r.self, want, op, r.prev.peer, h.Payload)
	}
	return nil
}
