package comm

import (
	"fmt"
	"io"
	"math"

	"github.com/psbench/psbench/comm/tensor"
)

// PushPuller is a trainer's link to its server.
type PushPuller interface {
	// PushPull sends b.Gradient to the server, whose answer replaces it.
	// PushPull returns at once; the caller must not touch b.Gradient until the
	// future is done. Batches count from 0; operations run in the order of the
	// calls. Pushing a bucket again before its last push is answered is an
	// error.
	PushPull(batch int64, b *tensor.Bucket) *Future
}

// ServerLink is a trainer's end of a link to its server.
type ServerLink interface {
	PushPuller
	// Close ends the link and waits for its goroutines. If pushes are
	// unanswered, they fail and the server sees a lost link. Otherwise the
	// server sees an orderly end.
	io.Closer
}

// Port is a server's end of its links to trainers.
type Port interface {
	// Serve takes pushes until every trainer has closed its link in order,
	// Close is called or an error ends all links. Serve returns the first
	// error.
	//
	// Serve calls handle with each push or chunk. Serve may call handle from
	// several goroutines at once, but never twice at once for the same trainer.
	// handle must not wait for another push. An error of handle ends Serve.
	// There is no timeout between pushes. Call Serve once.
	Serve(handle func(*Arrival) error) error
	// Stores returns the stores that receive a trainer's pushes. The first
	// store is for gradients in the trainer's own store. If the transport
	// distinguishes other gradients, a second store is for them. A port may
	// free stores as it closes, once the server handles no push. The caller
	// owns the rest after Close.
	Stores(trainer int) []*Store
	// Close ends all links and waits for Serve, so handle must not call it.
	io.Closer
}

// GroupLink is a member's end of a Group.
type GroupLink interface {
	Group
	// Close leaves the group and waits for its goroutines. If operations are
	// pending, they fail and the other members see a lost link. Otherwise the
	// other members see an orderly end.
	io.Closer
}

// Group is a collective link among trainers. Every member must start the same
// operations on the same (batch, bucket) in the same order; a mismatch is an
// error. Operations return at once. The caller must not touch a gradient until
// its future is done.
type Group interface {
	// AllReduce replaces b.Gradient on every member by the sum over all
	// members: element by element when dense, over the union of rows when
	// sparse. All members get equal bits.
	AllReduce(batch int64, b *tensor.Bucket) *Future
	// Average is AllReduce with each sum divided by the number of members.
	// Average divides while the sum is in the cache, so it moves the same
	// bytes.
	Average(batch int64, b *tensor.Bucket) *Future
	// Broadcast replaces b.Gradient on every member by the gradient of the member
	// at position root.
	Broadcast(batch int64, b *tensor.Bucket, root int) *Future
	// ReduceScatter sums b.Gradient, which must be dense, over all members.
	// Each member gets one shard of the sum: tensor.BucketSpec's Shard maps
	// positions to shards. The rest of the member's gradient is undefined.
	ReduceScatter(batch int64, b *tensor.Bucket) *Future
	// AllGather replaces every shard of b.Gradient, which must be dense, by the
	// values of the shard's owner.
	AllGather(batch int64, b *tensor.Bucket) *Future
	// AllToAll transposes blocks of b.Gradient, which must be dense: block j of
	// member i becomes block i of member j. tensor.BucketSpec's Block
	// cuts the blocks.
	// Elements after the last block do not change.
	AllToAll(batch int64, b *tensor.Bucket) *Future
	// Barrier waits until every member has called it and the caller's earlier
	// operations have ended.
	Barrier() error
	// Size is the number of members; Position is this member's place among
	// them.
	Size() int
	Position() int
}

// WaitError reports a wait that reached its deadline.
type WaitError struct {
	Waiter  string   // the rank that waited
	For     []string // the ranks that it waited for
	What    string   // what it waited for, e.g. "the answer to batch 3, bucket 0"
	Seconds float64  // length of the wait
}

func (e *WaitError) Error() string {
	seconds := math.Round(1000*e.Seconds) / 1000 // removes the short delay until the deadline was set
	return fmt.Sprintf("%s waited %g s for %s from %s", e.Waiter, seconds, e.What, JoinNames(e.For))
}

// PeerError reports that the link to a peer broke: the peer died or closed the
// link.
type PeerError struct {
	Waiter string
	Peer   string
	What   string // what this rank was waiting for or sending
	Err    error
}

func (e *PeerError) Error() string {
	return fmt.Sprintf("%s lost its link to %s during %s: %v", e.Waiter, e.Peer, e.What, e.Err)
}

func (e *PeerError) Unwrap() error { return e.Err }

// JoinNames lists ranks as in a sentence: "trainer0, trainer1 and server2".
func JoinNames(names []string) string {
	switch len(names) {
	case 0:
		return "nobody"
	case 1:
		return names[0]
	}
	s := names[0]
	for _, n := range names[1 : len(names)-1] {
		s += ", " + n
	}
	return s + " and " + names[len(names)-1]
}
