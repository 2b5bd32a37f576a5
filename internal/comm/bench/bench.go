// Package bench has the operations of the data plane that psbench comm measures: how each is
// carried out, what must come out, and what it moves. The
// harness, in the core and in the processes that measure, knows none of them by name.
package bench

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
)

// Operations lists all operations, in the order in which they are shown.
var Operations = []*Operation{PushPull, AllReduce, ReduceScatter, AllGather, AllToAll, Broadcast, Barrier, Hook}

// Operation is one that can be measured.
type Operation struct {
	Name   string // as on the command line
	Served bool   // a server takes part
	Hooked bool   // a hook takes part, by links of its own; what has neither is a collective among the trainers
	Empty  bool   // it moves no bucket, and needs nothing below but Run
	Dense  bool   // it has no form for sparse buckets
	// Types are the element types that it can carry.
	Types []tensor.Type

	// Run carries a round out and waits for its end. It allocates nothing.
	Run func(l Links, round int64, b *tensor.Bucket) error
	// Expect says what the gradient must hold afterwards. Parts that are not named may hold
	// anything; of a sparse one there is one part, which is all of it.
	Expect func(r Round) []Part
	// Volume is what it moves.
	Volume func(c Case) Volume
	// Dense and sparse explanations of algbw and busbw; S is the size, T the number of
	// trainers, P are the bytes of the rows that a rank has, U those of their union.
	Bandwidths [2]string
	// Moves says what it reads and writes in shared memory, as Volume counts it.
	Moves string // "" where that is not known
}

// summed are the types that can be added, whole those whose operation knows float32 alone.
var (
	summed = []tensor.Type{tensor.Float32, tensor.Float16, tensor.BFloat16, tensor.Int32, tensor.Int64}
	whole  = []tensor.Type{tensor.Float32}
)

// Find is the operation of this name, or nil.
func Find(name string) *Operation {
	for _, o := range Operations {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// Links are what a rank has joined.
type Links struct {
	Server comm.PushPuller // nil without push-pull
	Group  comm.Group      // nil without collectives
	Hook   Reducer         // nil unless it is measured
}

// Round is one that a rank has carried out.
type Round struct {
	Number   int64
	Bucket   *tensor.BucketSpec
	Rank     int   // its position among the trainers
	Trainers int   // how many there are
	Partners []int // ranks that push to the same server, in order
	Reduced  []int // ranks whose gradients a hook reduces together, in order
}

// All are the ranks of all trainers.
func (r Round) All() []int {
	ranks := make([]int, r.Trainers)
	for i := range ranks {
		ranks[i] = i
	}
	return ranks
}

// whole is all of the gradient: the sum over some ranks.
func (r Round) whole(ranks ...int) []Part { return []Part{{To: r.Bucket.Elements, Ranks: ranks}} }

// Part is the elements From to To of a gradient. They hold the sum of the elements that the ranks
// wrote before the round, from element Source on.
type Part struct {
	From, To, Source int
	Ranks            []int
}

// Case is what the volume of an operation depends on.
type Case struct {
	Trainers, Servers int  // trainers share servers evenly
	Elementwise       bool // the server combines gradients element by element, in place
	Bytes             int  // of a dense bucket, or of the table
	// Sparse buckets have rows of Width elements. A rank pushes the share Density of the rows.
	Sparse  bool
	Width   int
	Density float64
	Warm    bool // the round before has left what goes round
	Copied  bool // gradients live outside the store
}

// Volume is what one operation moves, in bytes.
type Volume struct {
	// Alg is what algbw counts, Bus what busbw counts.
	Alg, Bus float64
	// Moved is what its algorithm in shared memory reads plus what it writes, all ranks
	// together; 0 if that is not known.
	Moved float64
	// Received is what all ranks together receive from others, where frames carry it.
	Received float64
}

// VolumeOf is the volume of an operation.
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
