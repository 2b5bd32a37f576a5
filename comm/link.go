package comm

import "fmt"

// PushPuller is a trainer's link to its server.
type PushPuller interface {
	// PushPull sends b.Gradient to the server and replaces it by the server's
	// answer. It returns at once; b.Gradient must not be touched until the
	// future is done. Batches count from 0; operations run in the order of the
	// calls. Pushing a bucket whose last push is unanswered is an error.
	PushPull(batch int64, b *Bucket) *Future
}

// Group is a collective link among trainers.
type Group interface {
	// AllReduce replaces b.Gradient on every member by the sum over all
	// members: element by element when dense, over the union of rows when
	// sparse. It returns at once; b.Gradient must not be touched until the
	// future is done. Every member must call it for the same (batch, bucket)
	// in the same order; disagreement is an error.
	AllReduce(batch int64, b *Bucket) *Future
	// Size is the number of members, Position this member's place among them.
	Size() int
	Position() int
}

// WaitError says that a wait ended at its deadline.
type WaitError struct {
	Waiter  string   // the rank that waited
	For     []string // the ranks that it waited for
	What    string   // what it waited for, e.g. "the answer to batch 3, bucket 0"
	Seconds float64  // how long
}

func (e *WaitError) Error() string {
	return fmt.Sprintf("%s waited %.4g s for %s from %s", e.Waiter, e.Seconds, e.What, joinNames(e.For))
}

// PeerError says that the link to a peer broke: the peer died or closed it.
type PeerError struct {
	Waiter string
	Peer   string
	What   string // what the link was being used for
	Err    error
}

func (e *PeerError) Error() string {
	return fmt.Sprintf("%s lost its link to %s during %s: %v", e.Waiter, e.Peer, e.What, e.Err)
}

func (e *PeerError) Unwrap() error { return e.Err }

func joinNames(names []string) string {
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
