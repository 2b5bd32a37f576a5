// Package engine says who owns the memory that a computation works in: the contract of an
// engine, and Host, the engine of ordinary memory.
//
// What lies in an engine's memory is handed around as slices, like any other: they are
// cut, laid out and compared by their addresses. Only where the engine is Addressable may Go
// read or write their elements; elsewhere that ends the process, and copies are made.
// docs/engines.md has the life of the memory, the order of copies and what a new engine
// implements.
package engine

import (
	"errors"
	"io"

	"github.com/psbench/psbench/comm"
)

// Engine is what computes, and the owner of the memory that it computes in. A plugin names
// one for its processes (plugin.ServeOn), and all parts in a process have the same. Its
// methods may be called from several goroutines at once.
//
// What is copied has its place in the order of the work: a copy begins after everything that
// the engine was given before it by the same goroutine has taken effect, and work that it is given
// after Wait finds what was copied.
type Engine interface {
	// Name is what messages call the engine, such as "cuda:0".
	Name() string
	// Addressable says that Go may read and write the engine's memory, and that the
	// engine computes in ordinary memory of the process as well. Then nothing is staged:
	// gradients lie in the buckets, and parts may hand over memory of their own.
	Addressable() bool
	// Alloc gives memory for so many elements, all 0, until it is freed or the engine is
	// closed. A type that the engine lacks is an error, as Lacks words it.
	Alloc(t Type, elements int) ([]byte, error)
	// Free takes back what Alloc gave, whole, once the work that it was given is done with
	// it.
	Free(memory []byte)
	// Adopt prepares host memory that will be copied from and to in every iteration: it may
	// be pinned, or mapped by a device. Closing what it returns undoes that; whoever owns the
	// memory does so before the memory goes. nil stands for nothing to undo.
	Adopt(host []byte) (io.Closer, error)
	// CopyOut begins to copy from the engine's memory to the host's, CopyIn the other way.
	// Both slices are of the same length and stay until the copy has ended. Copies of
	// one direction end in the order of their calls; those of the other do not wait for them.
	// They return at once and allocate nothing.
	CopyOut(host, memory []byte) Ticket
	CopyIn(memory, host []byte) Ticket
	// Wait waits until a copy, and all before it in its direction, have ended. A copy that
	// failed is the error of its ticket and of all later ones. Each ticket may be waited for
	// any number of times, by any goroutine.
	Wait(t Ticket) error
	// Close ends the engine after all work and gives its memory back. It is the last call. A
	// process that is killed does not come to it.
	io.Closer
}

// Sharer is implemented by engines whose memory other processes on the same device use in place, by
// links that can leave buckets there.
type Sharer interface {
	Engine
	comm.Device
	// AwaitShared has what the engine is given from now on wait for all that links and peers did with
	// shared buckets, whose operations have ended. It does not wait itself.
	AwaitShared() error
	// Copy has memory of the engine hold what other memory of it does, which may be a peer's. Its place in the
	// order of the work is that of its call, and it waits for nothing.
	Copy(to, from []float32) error
}

// Borrower is implemented by sharers that carry out the work of servers as well: there server batch_update takes its
// trainers' gradients where they lie, and puts the parameters there.
type Borrower interface {
	Sharer
	Averager
	// Borrow is the loan of what a trainer has pushed; nil where the values are not memory that it shares.
	Borrow(values []float32) Loan
}

// Loan is a bucket of a trainer's on the same device, from its push to the answer.
type Loan interface {
	// Take has what the engine is given from now on wait for what the trainer gave it before its push.
	Take() error
	// Return has what the trainer gives it after the answer wait for what the engine has been given by now.
	Return() error
}

// Spanner is implemented by engines that reduce buckets with those on other devices, by a library of the
// devices'.
type Spanner interface {
	Sharer
	// Across is what a group of ranks on devices of their own joins by. The error says why there is none.
	Across() (comm.Spanner, error)
}

// Averager is implemented by engines that take means in their memory. There server batch_update has them take
// that of its trainers' gradients, which it adds up in ordinary memory otherwise.
type Averager interface {
	Engine
	// Mean has mean be that of parts, which are added up in their order; all have equally many elements, in
	// the engine's memory. Its place in the order of the work is that of its call, and it waits for nothing.
	Mean(mean []float32, parts [][]float32) error
}

// Ticket stands for a copy that an engine was asked for. What it holds is the engine's
// business; the zero Ticket is that of a copy that has ended.
type Ticket struct {
	In     bool
	Number int64
}

// Opener opens the engine of a plugin's process. It is called once in each process that
// computes, when that is configured, so that listing a plugin's parts touches no device.
type Opener func() (Engine, error)

// Lost says whether an error is that of an engine which is lost, with all that it held: an error that it wraps
// has a method of that name which says so. A process tells it once, however many calls fail of it.
func Lost(err error) bool {
	var lost interface {
		error
		Lost() bool
	}
	return errors.As(err, &lost) && lost.Lost()
}
