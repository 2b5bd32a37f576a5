// Package bench defines the data-plane operations that psbench comm measures:
// how to run each operation, what result to expect, and how many bytes it
// moves. The harness, in the core and in the measuring processes, does not name
// individual operations.
package bench

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
)

// Operations lists all operations in display order.
var Operations = []*Operation{PushPull, AllReduce, ReduceScatter, AllGather, AllToAll, Broadcast, Barrier, Hook}

// Operation is an operation that psbench comm can measure.
type Operation struct {
	Name   string // name on the command line
	Served bool   // a server takes part
	Hooked bool   // a hook takes part, over its own links; if neither is set, it is a collective
	Empty  bool   // it moves no bucket and needs only Run of the fields below
	Dense  bool   // it supports only dense buckets
	// Types lists the element types that the operation carries.
	Types []tensor.Type

	// Run performs one round and waits for its end. Run allocates nothing.
	Run func(l Links, round int64, b *tensor.Bucket) error
	// Expect returns what the gradient must hold after a round. Elements
	// outside the parts may hold anything. A sparse gradient has one part that
	// covers the whole gradient.
	Expect func(r Round) []Part
	// Volume returns the bytes that the operation moves.
	Volume func(c Case) Volume
	// Bandwidths explains algbw and busbw, first for dense, then for sparse
	// buckets. In these texts, S is the size and T the number of trainers. P is
	// the size in bytes of the rows that one rank has, U the size of the union
	// of all ranks' rows.
	Bandwidths [2]string
	// Moves describes what the operation reads and writes in shared memory, as
	// Volume counts it.
	Moves string // "" if unknown
}

// The element types that operations can add, and those of operations that carry only float32.
var (
	summed = []tensor.Type{tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Int32, tensor.Int64}
	single = []tensor.Type{tensor.Float32}
)

// Find returns the operation with this name, or nil.
func Find(name string) *Operation {
	for _, o := range Operations {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// Links are the links that a rank has joined.
type Links struct {
	Server comm.PushPuller // nil without push-pull
	Group  comm.Group      // nil without collectives
	Hook   Reducer         // nil unless a hook is measured
}

// Round is a round that a rank has performed.
type Round struct {
	Number   int64
	Bucket   *tensor.BucketSpec
	Rank     int   // position among the trainers
	Trainers int   // number of trainers
	Partners []int // ranks that push to the same server, in order
	Reduced  []int // ranks whose gradients the hook reduces together, in order
}

// All lists the ranks of all trainers.
func (r Round) All() []int {
	ranks := make([]int, r.Trainers)
	for i := range ranks {
		ranks[i] = i
	}
	return ranks
}

// whole is a part that covers the whole gradient and holds the sum over some
// ranks.
func (r Round) whole(ranks ...int) []Part { return []Part{{To: r.Bucket.Elements, Ranks: ranks}} }

// Part is a range of a gradient, from element From to element To. Before the
// round, some ranks wrote values into their gradients. After it, Part holds the
// sum of these values over the ranks, from element Source on.
type Part struct {
	From, To, Source int
	Ranks            []int
}

// Case holds the parameters that determine an operation's volume.
type Case struct {
	Trainers, Servers int  // trainers share servers evenly
	Elementwise       bool // the server combines gradients element by element, in place
	Bytes             int  // size of a dense bucket or of the table
	// Sparse buckets have rows of Width elements. A rank pushes the share Density of the rows.
	Sparse  bool
	Width   int
	Density float64
	Warm    bool // a round starts with the previous round's result
	Copied  bool // gradients lie outside the store
}

// Volume is the number of bytes that one operation moves.
type Volume struct {
	// Alg is the volume for algbw; Bus is the volume for busbw.
	Alg, Bus float64
	// Moved is the number of bytes that the shared-memory algorithm reads and
	// writes, over all ranks; 0 if unknown.
	Moved float64
	// Received is the number of bytes that all ranks receive from other ranks
	// on transports that send frames.
	Received float64
}

// VolumeOf returns the volume of the operation for this case.
func (o *Operation) VolumeOf(c Case) Volume {
	if o.Empty {
		return Volume{}
	}
	v := o.Volume(c)
	if c.Sparse {
		v.Moved = 0
	}
	return v
}
