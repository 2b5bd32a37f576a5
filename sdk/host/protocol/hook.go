package protocol

import (
	"fmt"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/wire"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/fault"
	"github.com/psbench/psbench/sdk/host/process"
)

// Hook stands for a hook in a companion. A bucket that is to be reduced goes to the part, which asks for
// operations on it, one after the other. The reader starts them on the rank's links; a goroutine
// of the hook waits for them in the order in which they were started, as all ranks start them, and
// tells the part or, after the last one, who waits for the bucket.
type Hook struct {
	link       *link
	links      sdk.Links
	reductions []*reduction    // by bucket
	started    chan *reduction // whose operation is under way; has room for all
	waiting    sync.WaitGroup  // the goroutine that waits for those
}

var _ sdk.Hook = (*Hook)(nil)

// reduction is the reductions of a bucket, one after the other. The link's mu guards state and
// debt; the rest belongs to whoever is at work with the bucket.
type reduction struct {
	debt    // what the part does next
	state   state
	stored  *tensor.Bucket // with the memory that the part sees
	promise *comm.Promise
	batch   int64
	asked   wire.Header  // the operation under way
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
	h = &Hook{started: make(chan *reduction, len(store.Buckets))}
	for _, b := range store.Buckets {
		h.reductions = append(h.reductions, &reduction{stored: b, promise: comm.NewPromise(nil)})
	}
	if h.link, err = dial(p, peer, kind{take: h.take, ended: h.ended}); err != nil {
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
		if err := h.link.show(roleBucket, i, tensor.Float32Bytes(values)); err != nil {
			return err
		}
		if !b.Sparse {
			continue
		}
		if err := h.link.show(roleBucketRows, i, tensor.Int32Bytes(b.Shown)); err != nil {
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
	r.batch = s.Batch()
	h.give(r, &wire.Header{Op: opReduce})
	return r.promise.Future()
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
	if b := r.stored; b.Sparse {
		if err := b.TakeRows(int(f.Rows)); err != nil {
			return h.link.wrong("sent %s: %v", describe(f), err)
		}
	} else if f.Rows != 0 {
		return h.link.wrong("sent %s with %d rows, but the bucket is dense", describe(f), f.Rows)
	}
	if f.Op == opReduced {
		h.done(r, nil)
		return nil
	}
	r.asked = *f
	var err error
	if r.ending, err = h.start(f, r.stored); err != nil {
		return err
	}
	h.started <- r // each bucket is in it once at most
	return nil
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

// start starts the operation that the part asks for.
func (h *Hook) start(f *wire.Header, b *tensor.Bucket) (*comm.Future, error) {
	if f.Op == opPushPull {
		if h.links.Server == nil {
			return nil, h.link.wrong("sent %s, but its hook has no link to a server: it must declare that", describe(f))
		}
		return h.links.Server.PushPull(f.Batch, b), nil
	}
	group := h.links.Group
	if f.Flags&flagDefaultGroup != 0 {
		group = h.links.Default
	}
	if group == nil {
		return nil, h.link.wrong("sent %s, but its hook has no such link: it must declare that", describe(f))
	}
	switch f.Op {
	case opAllReduce:
		return group.AllReduce(f.Batch, b), nil
	case opAverage:
		return group.Average(f.Batch, b), nil
	case opBroadcast:
		return group.Broadcast(f.Batch, b, int(f.Arg)), nil
	case opReduceScatter:
		return group.ReduceScatter(f.Batch, b), nil
	case opAllGather:
		return group.AllGather(f.Batch, b), nil
	default:
		return group.AllToAll(f.Batch, b), nil
	}
}

// waitForEnds waits for the operations until the link has ended.
func (h *Hook) waitForEnds() {
	for {
		select {
		case r := <-h.started:
			h.goOn(r)
		case <-h.link.read:
			return
		}
	}
}

// goOn waits for an operation, and gives the bucket to whom it is due next.
func (h *Hook) goOn(r *reduction) {
	err := r.ending.Wait()
	if err != nil || r.asked.Flags&flagLast != 0 {
		h.done(r, fault.Of(h.link.conn.Peer(), nameOf(r.asked.Op), err))
		return
	}
	h.give(r, &wire.Header{Op: opEnded, Arg: int64(r.asked.Op)})
}

// done ends a reduction.
func (h *Hook) done(r *reduction, err error) {
	h.link.mu.Lock()
	r.state = withTrainer
	h.link.mu.Unlock()
	r.promise.Complete(err)
}

// ended fails what is in flight. Whoever waits for an operation is told of its end as well, which
// changes nothing.
func (h *Hook) ended(err error) {
	for _, r := range h.reductions {
		r.promise.Complete(err)
	}
}

// Close ends the link and waits until nobody works with the buckets on its account.
func (h *Hook) Close() error {
	err := h.link.Close()
	h.waiting.Wait()
	return err
}
