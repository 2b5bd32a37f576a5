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
	"github.com/psbench/psbench/internal/host/traffic"
	"github.com/psbench/psbench/sdk"
)

// Hook represents a hook in a companion. Hook hands each bucket to the part. The part requests
// operations on the bucket, one after the other. The goroutine that reads the link starts these
// operations on the rank's links. Another goroutine waits for the operations in the order of their
// start. The waiting goroutine reports the end of each operation to the part. After the last
// operation, the goroutine completes the bucket's future.
//
// A goroutine that waits for a bucket may read the link itself while the part has the bucket,
// unless the reader is reading. The same goroutine then also waits for that bucket's operation.
// Handing the operation to another goroutine may take longer than the operation.
//
// Members of a group must start the same operations in the same order. However, a part with several
// operations per bucket requests them at its own speed. So a bucket's collectives begin only after
// all earlier buckets have begun their last operation: this fixes the order by bucket. Pushes to a
// server need no order. Each round of a traffic plan has a group of its own, so it begins once all
// earlier buckets have begun theirs.
type Hook struct {
	link       *link
	links      sdk.Links
	laid       *traffic.Laid   // the hook's plan; without buckets if the hook plans nothing
	reductions []*reduction    // by bucket
	line       []*reduction    // in the order of handing to the part; guarded by the link's mu
	driven     *reduction      // its waiter is reading the link; guarded by the link's reading
	kept       bool            // that waiter also waits for the operation, which is not in started; same guard
	payloads   []int32         // by bucket: the payloads of the plan up to the bucket's last one
	started    chan *reduction // reductions with a running operation; has room for all
	// rounds are the same for each round of the plan. One goroutine for all would wait for the rounds
	// in the order in which this rank started them. Ranks start the rounds of different buckets in
	// different orders, so two ranks could then wait for each other.
	rounds  []chan *reduction
	waiting sync.WaitGroup // the goroutines that wait for the operations in started and rounds
	asking  asking
	beside  *sdk.Series // time the part has buckets before it requests an operation
}

var _ sdk.Hook = (*Hook)(nil)

// reduction is the state of one bucket's reductions, which run one after the other. The link's mu
// guards state and debt. All other fields belong to the goroutine that currently works on the
// bucket.
type reduction struct {
	debt    // the part's next frame about the bucket
	state   state
	stored  *tensor.Bucket // bucket in the memory that the part sees
	promise *comm.Promise
	batch   int64
	sinceNS int64        // when the trainer handed the bucket over; 0 after the part's first request
	asked   wire.Header  // the operation that is waiting or running
	held    bool         // the operation is waiting for its turn
	begun   int          // rounds of the plan that have begun; guarded by the link's mu
	ending  *comm.Future // the operation's future
}

// state is the current owner of a bucket: the trainer, the part or the links.
type state int

const (
	withTrainer state = iota
	withPart
	withLinks // an operation is running
)

// NewHook connects to a companion with a hook and measures the median round trip of a no-op call.
// The hook will reduce the buckets of store, which must lie in a segment. Call Join next. The links
// that Join gets must be closed before the hook, so the process must own these links later than the
// hook.
func NewHook(p *process.Process, peer process.Peer, store *comm.Store) (h *Hook, tripNS int64, err error) {
	if store.Segment == nil {
		return nil, 0, fmt.Errorf("the buckets of %s are not in memory that can be passed to %s", p.Name(), peer.Name)
	}
	n := len(store.Buckets)
	h = &Hook{
		asking: newAsking(), laid: &traffic.Laid{}, line: make([]*reduction, 0, n), started: make(chan *reduction, n),
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

// Join gives the hook the rank's links. Call Join before any Reduce.
func (h *Hook) Join(links sdk.Links) {
	h.links = links
	h.waiting.Go(func() { h.waitForEnds(h.started) })
}

// Reset implements sdk.Hook. The core resets the part.
func (h *Hook) Reset() {}

// Reduce implements sdk.Hook.
func (h *Hook) Reduce(s sdk.HookState, b *tensor.Bucket) *comm.Future {
	r := h.of(int32(b.Index)) // #nosec G115 -- an index
	if r == nil || !b.Gradient.SameValues(&r.stored.Gradient) {
		return comm.Completed(fmt.Errorf("bucket %d is not among the buckets that %s was connected with", b.Index,
			h.link.conn.Peer()))
	}
	if !r.promise.Begin() {
		return comm.Completed(fmt.Errorf("bucket %d is to be reduced while its last reduction is in flight", b.Index))
	}
	r.batch, r.sinceNS = s.Batch(), comm.Now()
	h.link.mu.Lock()
	r.begun = 0
	h.line = append(h.line, r)
	h.link.mu.Unlock()
	h.give(r, &wire.Header{Op: opReduce})
	return r.promise.Future()
}

// drive runs on the goroutine that waits for a bucket. While the part has the bucket, drive reads
// the link, unless another goroutine already reads. Then drive waits for the operation that the
// part requested.
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

// give hands a bucket to the part with frame f. give fills in the frame's batch, bucket and rows.
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
	l.post(f) // if sending fails, the reader ends and fails the reduction
}

// of returns the reduction of a bucket, or nil for an unknown bucket.
func (h *Hook) of(bucket int32) *reduction {
	if bucket < 0 || int(bucket) >= len(h.reductions) {
		return nil
	}
	return h.reductions[bucket]
}

// take takes a bucket back from the part and starts the operation that the part requests.
func (h *Hook) take(f *wire.Header) error {
	if f.Op < opPushPull || f.Op > opRound || f.Op == opEnded {
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
	if err := h.checkRound(r, f); err != nil {
		return err
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
	r.asked, r.held = *f, true
	return h.startHeld()
}

// stamp records how long the part had a bucket before its first request. The request is an
// operation, which may then have to wait, or the end of the reduction.
func (h *Hook) stamp(r *reduction) {
	if r.sinceNS != 0 {
		h.beside.Record(sdk.Key{A: r.batch, B: int64(r.stored.Index)}, r.sinceNS, comm.Now())
		r.sinceNS = 0
	}
}

// startHeld starts the waiting operations whose turn has come. An operation that starts may be what
// another one waits for.
func (h *Hook) startHeld() error {
	for r := h.next(); r != nil; r = h.next() {
		r.held = false
		if err := h.start(r); err != nil {
			return err
		}
	}
	return nil
}

// next returns the first reduction in the line whose operation waits although its turn has come, or
// nil if there is none.
func (h *Hook) next() *reduction {
	h.link.mu.Lock()
	defer h.link.mu.Unlock()
	for i, r := range h.line {
		if r.held && h.mayStart(r, h.line[:i]) {
			return r
		}
	}
	return nil
}

// mayStart reports whether the operation of r may start before the next operations of the reductions
// that are earlier in the line. The caller holds the link's mu.
func (h *Hook) mayStart(r *reduction, earlier []*reduction) bool {
	switch r.asked.Op {
	case opPushPull:
		return true
	case opRound:
		return !slices.ContainsFunc(earlier, func(e *reduction) bool {
			return e.begun <= r.begun && r.begun < h.laid.Rounds(e.stored.Index)
		})
	default: // on a group that carries no rounds
		return !slices.ContainsFunc(earlier, func(e *reduction) bool { return h.laid.Rounds(e.stored.Index) == 0 })
	}
}

// leave removes a reduction from the line. The reduction starts no more operations.
func (h *Hook) leave(r *reduction) {
	h.link.mu.Lock()
	defer h.link.mu.Unlock()
	at := slices.Index(h.line, r)
	h.line = slices.Delete(h.line, at, at+1)
}

// takeBack records that the part no longer works on a bucket.
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

// ended fails all reductions in flight. A goroutine that waits for an operation may complete the
// reduction again; that has no effect.
func (h *Hook) ended(err error) {
	for _, r := range h.reductions {
		r.promise.Complete(err)
	}
}

// Close ends the link and waits until no goroutine works on its buckets.
func (h *Hook) Close() error {
	err := h.link.Close()
	h.waiting.Wait()
	return err
}
