package hosted

import (
	"fmt"
	"sync/atomic"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// watch finds operations that a hook starts and forgets. The hook must wait for each operation, or
// return its future, or return a future that waits for it. A hook may keep an operation past its
// Reduce, as a delayed hook does.
//
// So watch checks when the hook starts the next operation on the same bucket and link. By then, the
// hook must have waited for the last operation. The check costs an uncontended lock and allocates
// nothing.
type watch struct {
	all       []*watchedLink
	stamps    *stamps
	forgotten atomic.Pointer[forgotten] // the first forgotten operation
}

// forgotten is the error for an operation that the hook did not wait for.
type forgotten struct {
	operation record.Operation
	link      sdk.Link
	batch     int64
	bucket    int
}

func (f *forgotten) Error() string {
	return fmt.Sprintf("it started the operation %s of batch %d, bucket %d on link %s, and nobody waited for it: Reduce must return its future, or one that waits for it",
		f.operation, f.batch, f.bucket, f.link)
}

// err returns the error of the first forgotten operation.
func (w *watch) err() error {
	if f := w.forgotten.Load(); f != nil {
		return f
	}
	return nil
}

// unawaited returns the error for an operation that the hook has not waited for so far, or nil.
func (w *watch) unawaited() error {
	for _, l := range w.all {
		for i, last := range l.last {
			if last.future != nil && !last.future.Awaited() {
				return &forgotten{last.operation, l.name, last.batch, i}
			}
		}
	}
	return nil
}

// newWatch replaces the hook's links in env by watched links.
func newWatch(env *sdk.HookEnv, s *stamps) *watch {
	w := &watch{stamps: s}
	if l := env.Server; l != nil {
		env.Server = &watchedServer{l, w.watched(sdk.LinkServer, env)}
	}
	if l := env.Group; l != nil {
		env.Group = &watchedGroup{l, w.watched(sdk.LinkGroup, env)}
	}
	if l := env.Default; l != nil {
		env.Default = &watchedGroup{l, w.watched(sdk.LinkDefault, env)}
	}
	return w
}

func (w *watch) watched(name sdk.Link, env *sdk.HookEnv) *watchedLink {
	l := &watchedLink{watch: w, name: name, last: make([]begun, len(env.Buckets))}
	w.all = append(w.all, l)
	return l
}

// reset begins a pass. Operations of the last pass may legitimately never be awaited, so reset
// forgets them.
func (w *watch) reset() {
	for _, l := range w.all {
		clear(l.last)
	}
}

// watchedLink is the watch's state for one link: the last operation on each bucket.
type watchedLink struct {
	watch *watch
	name  sdk.Link
	last  []begun
}

type begun struct {
	operation record.Operation
	batch     int64
	future    *comm.Future // nil before the first one
}

// begin records the call. begin also checks the last operation on the bucket, before the next
// operation reuses its future.
func (l *watchedLink) begin(b *tensor.Bucket) {
	l.watch.stamps.called(b)
	if b.Index < 0 || b.Index >= len(l.last) {
		return // the link itself refuses the bucket
	}
	if last := &l.last[b.Index]; last.future != nil && !last.future.Awaited() {
		l.watch.forgotten.CompareAndSwap(nil, &forgotten{last.operation, l.name, last.batch, b.Index})
	}
}

// note records an operation that has begun, and returns its future.
func (l *watchedLink) note(o record.Operation, batch int64, b *tensor.Bucket, f *comm.Future) *comm.Future {
	if b.Index >= 0 && b.Index < len(l.last) {
		l.last[b.Index] = begun{o, batch, f}
	}
	return f
}

type watchedServer struct {
	comm.PushPuller
	*watchedLink
}

func (s *watchedServer) PushPull(batch int64, b *tensor.Bucket) *comm.Future {
	s.begin(b)
	return s.note(record.PushPull, batch, b, s.PushPuller.PushPull(batch, b))
}

type watchedGroup struct {
	comm.Group
	*watchedLink
}

func (g *watchedGroup) AllReduce(batch int64, b *tensor.Bucket) *comm.Future {
	g.begin(b)
	return g.note(record.AllReduce, batch, b, g.Group.AllReduce(batch, b))
}

func (g *watchedGroup) Average(batch int64, b *tensor.Bucket) *comm.Future {
	g.begin(b)
	return g.note(record.Average, batch, b, g.Group.Average(batch, b))
}

func (g *watchedGroup) Broadcast(batch int64, b *tensor.Bucket, root int) *comm.Future {
	g.begin(b)
	return g.note(record.Broadcast, batch, b, g.Group.Broadcast(batch, b, root))
}

func (g *watchedGroup) ReduceScatter(batch int64, b *tensor.Bucket) *comm.Future {
	g.begin(b)
	return g.note(record.ReduceScatter, batch, b, g.Group.ReduceScatter(batch, b))
}

func (g *watchedGroup) AllGather(batch int64, b *tensor.Bucket) *comm.Future {
	g.begin(b)
	return g.note(record.AllGather, batch, b, g.Group.AllGather(batch, b))
}

func (g *watchedGroup) AllToAll(batch int64, b *tensor.Bucket) *comm.Future {
	g.begin(b)
	return g.note(record.AllToAll, batch, b, g.Group.AllToAll(batch, b))
}

func (g *watchedGroup) Barrier() error {
	g.watch.stamps.calledAll()
	return g.Group.Barrier()
}
