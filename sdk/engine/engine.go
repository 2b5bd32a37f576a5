// Package engine defines Engine, the owner of the memory in which a computation works, and Host,
// the engine of ordinary memory.
//
// Slices represent an engine's memory: psbench cuts, lays out and compares them by address. Go may
// read or write their elements only if the engine is Addressable. Otherwise an access ends the
// process, and elements must be copied. docs/engines.md describes the life of the memory, the
// order of copies and the methods of a new engine.
package engine

import (
	"errors"
	"io"

	"github.com/psbench/psbench/comm"
)

// Engine computes, and owns the memory that it computes in. A plugin chooses one for its processes
// (plugin.ServeOn); all parts in a process share it. Its methods may be called from several
// goroutines at once.
//
// Copies are ordered with the engine's other work. A copy begins after all earlier work of the same
// goroutine has taken effect. Work that starts after Wait sees the copied data.
type Engine interface {
	// Name returns the engine's name in messages, such as "cuda:0".
	Name() string
	// Addressable reports whether Go may read and write the engine's memory, and the engine
	// also computes in ordinary memory of the process. If so, nothing is staged: gradients lie
	// in the buckets, and parts may hand over memory of their own.
	Addressable() bool
	// Alloc returns memory for so many elements, all 0. It lasts until Free or Close. If the
	// engine lacks type t, Alloc returns the error of Lacks.
	Alloc(t Type, elements int) ([]byte, error)
	// Free releases a whole slice of Alloc, once the engine's work that uses it is done.
	Free(memory []byte)
	// Adopt prepares host memory for copies in every iteration: the engine may pin it or map it
	// into a device. The owner of the memory closes the result before it releases the memory. A
	// nil result means that there is nothing to undo.
	Adopt(host []byte) (io.Closer, error)
	// CopyOut begins to copy from the engine's memory to the host's, CopyIn the other way. Both
	// slices must have the same length and stay valid until the copy has ended. Copies in one
	// direction end in the order of their calls. The two directions do not wait for each other.
	// Both methods return at once and allocate nothing.
	CopyOut(host, memory []byte) Ticket
	CopyIn(memory, host []byte) Ticket
	// Wait waits until a copy, and all earlier ones in its direction, have ended. If a copy
	// fails, Wait returns the error for its ticket and for all later ones. Any goroutine may
	// wait for a ticket, any number of times.
	Wait(t Ticket) error
	// Close waits for all work and releases the engine's memory. It is the last call. A killed
	// process does not call it.
	io.Closer
}

// Sharer is implemented by engines whose memory other processes on the same device can use in
// place, by links that leave buckets there.
type Sharer interface {
	Engine
	comm.Device
	// AwaitShared orders the engine's later work after all accesses of links and peers to shared
	// buckets. The operations on these buckets must have ended. AwaitShared itself does not wait.
	AwaitShared() error
	// Copy copies from one piece of the engine's memory, which may be a peer's, to another. It is
	// ordered with the engine's other work by the time of the call, and returns without a wait.
	Copy(to, from []float32) error
}

// Borrower is implemented by sharers that also do the work of servers. The server batch_update then
// reads its trainers' gradients in place and writes the parameters there.
type Borrower interface {
	Sharer
	Averager
	// Borrow returns the loan of a trainer's pushed values, or nil if values is not shared memory.
	Borrow(values []float32) Loan
}

// Loan is a bucket of a trainer on the same device, from its push to the answer.
type Loan interface {
	// Take orders the engine's later work after the trainer's work before its push.
	Take() error
	// Return orders the trainer's work after the answer after the engine's work so far.
	Return() error
}

// Spanner is implemented by engines that reduce buckets across devices with a library of the
// devices' vendor.
type Spanner interface {
	Sharer
	// Across returns the object through which ranks on different devices join a group. The error
	// explains why there is none.
	Across() (comm.Spanner, error)
}

// Averager is implemented by engines that can average in their memory. The server batch_update
// then lets the engine average its trainers' gradients. Otherwise it adds them up in ordinary
// memory.
type Averager interface {
	Engine
	// Mean sets mean to the mean of parts, added up in their order. All slices have equally many
	// elements and lie in the engine's memory. Mean is ordered with the engine's other work by the
	// time of the call, and returns without a wait.
	Mean(mean []float32, parts [][]float32) error
}

// Ticket identifies a copy. Only the engine interprets its fields; the zero Ticket stands for a
// copy that has ended.
type Ticket struct {
	In     bool
	Number int64
}

// Opener opens the engine of a plugin's process. It is called once in each process that computes,
// at its configuration. So a process that only lists a plugin's parts touches no device.
type Opener func() (Engine, error)

// Lost reports whether err means that an engine is lost with all its memory. That is so if err wraps
// an error whose method Lost returns true. A process reports the loss once, however many calls fail.
func Lost(err error) bool {
	var lost interface {
		error
		Lost() bool
	}
	return errors.As(err, &lost) && lost.Lost()
}
