package protocol

import (
	"fmt"
	"slices"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// Hook stands for a hook in a companion. Each bucket to reduce goes to the part. The part requests
// operations on the bucket, one after the other. The goroutine that reads the link starts them on the
// rank's links. A goroutine of the hook waits for the operations in the order of their start. It
// reports each end to the part and, after the last one, to the waiter for the bucket.
//
// A waiter for a bucket that the part still works on reads the link itself, unless the reader does.
// Then it also waits for that bucket's operation: handing the operation to another goroutine may take
// longer than the operation.
//
// Members of a group must start the same operations in the same order, but a part with several
// operations per bucket requests them at its own speed. So a bucket's collectives begin once all
// earlier buckets have begun their last operation: this fixes the order by bucket. Pushes to a
// server need no order.
type Hook struct {
	link       *link
	links      sdk.Links
	reductions []*reduction    // by bucket
	line       []*reduction    // in the order in which they were given to the part; the link's mu guards it
	driven     *reduction      // whose waiter reads; the link's reading guards it
	kept       bool            // and waits for its operation, which is not in started; likewise
	started    chan *reduction // whose operation is under way; has room for all
	waiting    sync.WaitGroup  // the goroutine that waits for those
	asking     asking
	beside     *sdk.Series // how long the part has buckets before it asks for an operation
}

var _ sdk.Hook = (*Hook)(nil)

// reduction is the reductions of a bucket, one after the other. The link's mu guards state and
// debt; the rest belongs to the goroutine that works with the bucket.
type reduction struct {
	debt    // what the part does next
	state   state
	stored  *tensor.Bucket // with the memory that the part sees
	promise *comm.Promise
	batch   int64
	sinceNS int64        // when the trainer handed the bucket over; 0 once the part has asked for an operation
	asked   wire.Header  // the operation that waits for its turn or is under way
	held    bool         // it waits
	ending  *comm.Future // its end
}

// state says who is at work with a bucket.
type state int

const (
	withTrainer state = iota
	withPart
	withLinks // an operation is under way
)

// NewHook joins a companion with a hook, which is to reduce the buckets of store: they lie in a
// segment. It measures the median round trip of a no-op call. Join comes next; what it joins is to
// be closed before the hook, so it is owned later.
func NewHook(p *process.Process, peer process.Peer, store *comm.Store) (h *Hook, tripNS int64, err error) {
	if store.Segment == nil {
		return nil, 0, fmt.Errorf("the buckets of %s are not in memory that can be passed to %s", p.Name(), peer.Name)
	}
	n := len(store.Buckets)
	h = &Hook{
		asking: newAsking(), line: make([]*reduction, 0, n), started: make(chan *reduction, n),
		beside: p.Recorder.Series(record.HookMetric, record.HookBeside),
	}
	for _, b := range store.Buckets {
		r := &reduction{stored: b}
		r.promise = comm.NewPromise(func() { h.drive(r) })
		h.reductions = append(h.reductions, r)
	}
	if h.link, err = dial(p, peer, kind{take: h.take, debtor: true, ended: h.ended}); err != nil {
		return nil, 0, err
	}
	p.Own(h)
	for _, r := range h.reductions {
		h.link.owes(&r.debt)
	}
	if tripNS, err = h.link.ping(); err != nil {
		return nil, 0, err
	}
	return h, tripNS, h.showBuckets(store)
}

func (h *Hook) showBuckets(store *comm.Store) error {
	if err := h.link.share(store.Segment, false, 0); err != nil {
		return err
	}
	for i, b := range store.Buckets {
		values := b.Gradient.Values[:cap(b.Gradient.Values)]
		at := tensor.Float32Bytes(values)
		if err := h.link.show(roleBucket, i, at, toLine(at)); err != nil {
			return err
		}
		if !b.Sparse {
			continue
		}
		rows := tensor.Int32Bytes(b.Shown)
		if err := h.link.show(roleBucketRows, i, rows, toLine(rows)); err != nil {
			return err
		}
	}
	return nil
}

// Join gives the hook the rank's links, before it reduces anything.
func (h *Hook) Join(links sdk.Links) {
	h.links = links
	h.waiting.Go(h.waitForEnds)
}

// Reset implements sdk.Hook. The core resets the part.
func (h *Hook) Reset() {}

// Reduce implements sdk.Hook.
func (h *Hook) Reduce(s sdk.HookState, b *tensor.Bucket) *comm.Future {
	r := h.of(int32(b.Index)) // #nosec G115 -- an index
	if r == nil || !b.Gradient.SameValues(&r.stored.Gradient) {
		return comm.Completed(fmt.Errorf("bucket %d is none that %s was connected with", b.Index, h.link.conn.Peer()))
	}
	if !r.promise.Begin() {
		return comm.Completed(fmt.Errorf("bucket %d is to be reduced while its last reduction is in flight", b.Index))
	}
	r.batch, r.sinceNS = s.Batch(), comm.Now()
	h.link.mu.Lock()
	h.line = append(h.line, r)
	h.link.mu.Unlock()
	h.give(r, &wire.Header{Op: opReduce})
	return r.promise.Future()
}

// drive runs on the goroutine of a waiter for a bucket. It reads the link while the part has the bucket,
// unless another goroutine reads already. Then it waits for the operation that the part requested.
func (h *Hook) drive(r *reduction) {
	l := h.link
	for more := true; more && h.isWithPart(r) && l.reading.TryLock(); {
		h.driven = r
		for more && h.isWithPart(r) {
			more = l.readOne()
		}
		kept := h.kept
		h.driven, h.kept = nil, false
		l.reading.Unlock()
		if kept {
			h.goOn(r)
		}
	}
}

func (h *Hook) isWithPart(r *reduction) bool {
	h.link.mu.Lock()
	defer h.link.mu.Unlock()
	return r.state == withPart
}

// give hands a bucket to the part by a frame, to which batch, bucket and rows are added.
func (h *Hook) give(r *reduction, f *wire.Header) {
	b, l := r.stored, h.link
	b.ShowRows(b.Gradient.Rows)
	f.Batch, f.Bucket, f.Rows = r.batch, int32(b.Index), int32(len(b.Gradient.Rows)) // #nosec G115 -- an index, rows are int32
	l.mu.Lock()
	err := l.err
	if err == nil {
		r.state = withPart
		l.expect(&r.debt, f)
	}
	l.mu.Unlock()
	if err != nil {
		r.promise.Complete(err)
		return
	}
	l.post(f) // where it cannot be sent the reader ends, and with it the reduction
}

// of is the reduction of a bucket; nil where there is none.
func (h *Hook) of(bucket int32) *reduction {
	if bucket < 0 || int(bucket) >= len(h.reductions) {
		return nil
	}
	return h.reductions[bucket]
}

// take takes a bucket back from the part, to start what it asks for.
func (h *Hook) take(f *wire.Header) error {
	if f.Op < opPushPull || f.Op > opReduced || f.Op == opEnded {
		return h.link.unasked(f)
	}
	r := h.of(f.Bucket)
	if r == nil {
		return h.link.wrong("sent %s, but the run has buckets 0 to %d", describe(f), len(h.reductions)-1)
	}
	if err := h.takeBack(r, f); err != nil {
		return err
	}
	h.stamp(r)
	if !h.link.intact(roleBucket, f.Bucket) || !h.link.intact(roleBucketRows, f.Bucket) {
		return h.link.wrong("wrote past the end of bucket %d in batch %d", f.Bucket, f.Batch)
	}
	if b := r.stored; b.Sparse {
		if err := b.TakeRows(int(f.Rows)); err != nil {
			return h.link.wrong("sent %s: %v", describe(f), err)
		}
	} else if f.Rows != 0 {
		return h.link.wrong("sent %s with %d rows, but the bucket is dense", describe(f), f.Rows)
	}
	if f.Op == opReduced {
		h.leave(r)
		h.done(r, nil)
		return h.startHeld()
	}
	r.asked = *f
	if f.Op != opPushPull && h.first() != r {
		r.held = true
		return nil
	}
	if err := h.start(r); err != nil {
		return err
	}
	return h.startHeld()
}

// stamp records how long the part had a bucket before it asked for something: an operation, which may be held
// then, or the end.
func (h *Hook) stamp(r *reduction) {
	if r.sinceNS != 0 {
		h.beside.Record(sdk.Key{A: r.batch, B: int64(r.stored.Index)}, r.sinceNS, comm.Now())
		r.sinceNS = 0
	}
}

// startHeld starts what waits at the head of the line, and after what ends the line there.
func (h *Hook) startHeld() error {
	for r := h.first(); r != nil && r.held; r = h.first() {
		r.held = false
		if err := h.start(r); err != nil {
			return err
		}
	}
	return nil
}

// first is the reduction at the head of the line; nil where there is none.
func (h *Hook) first() *reduction {
	h.link.mu.Lock()
	defer h.link.mu.Unlock()
	if len(h.line) == 0 {
		return nil
	}
	return h.line[0]
}

// leave takes a reduction out of the line: it starts no operation any more.
func (h *Hook) leave(r *reduction) {
	h.link.mu.Lock()
	defer h.link.mu.Unlock()
	at := slices.Index(h.line, r)
	h.line = slices.Delete(h.line, at, at+1)
}

// takeBack notes that the part is no longer at work with a bucket.
func (h *Hook) takeBack(r *reduction, f *wire.Header) error {
	h.link.mu.Lock()
	defer h.link.mu.Unlock()
	switch {
	case r.state == withLinks:
		return h.link.wrong("sent %s while %s is under way", describe(f), describe(&r.asked))
	case r.state == withTrainer:
		return h.link.unasked(f)
	case f.Batch != r.batch:
		return h.link.wrong("sent %s while batch %d is being reduced", describe(f), r.batch)
	}
	h.link.came(&r.debt)
	r.state = withLinks
	return nil
}

// done ends a reduction.
func (h *Hook) done(r *reduction, err error) {
	h.link.mu.Lock()
	r.state = withTrainer
	h.link.mu.Unlock()
	r.promise.Complete(err)
}

// ended fails all reductions in flight. Waiters for an operation also get the operation's own end, which
// changes nothing.
func (h *Hook) ended(err error) {
	for _, r := range h.reductions {
		r.promise.Complete(err)
	}
}

// Close ends the link and waits until no goroutine works with its buckets.
func (h *Hook) Close() error {
	err := h.link.Close()
	h.waiting.Wait()
	return err
}
