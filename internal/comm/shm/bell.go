package shm

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// BellSize is the room that a bell takes, in bytes: a cache line.
const BellSize = 64

// Spin is about how long a waiter looks again and again before it sleeps. A peer
// that is at work answers within it, and a sleep and its wake cost about as much.
const Spin = 50 * time.Microsecond

// firstLooks are those without a system call: the answer to a small message takes about 1 us.
const firstLooks = 64

// Operations of futex(2). Without FUTEX_PRIVATE_FLAG they work between processes.
const (
	futexWait = 0
	futexWake = 1
)

// Bell is where one process sleeps until its neighbours have something for it.
// It lies in the sleeper's segment: word 0 is the generation, on which the
// sleepers sleep (futex), word 1 the count of sleepers.
//
// No wake is lost. The ringer stores what it announces and then loads the count;
// the waiter raises the count and then loads what it waits for. All four are
// sequentially consistent, so at least one of them sees the other (Dekker's
// argument). A ring between the waiter's last look and its sleep has raised the
// generation, which the kernel compares before it lets the waiter sleep.
//
// A process that dies while it is counted leaves the count too high. That costs
// the ringers useless wakes and nothing else.
type Bell struct{ generation, sleepers *atomic.Uint32 }

// NewBell is the bell at the first BellSize bytes of at, which must begin at a
// multiple of BellSize and be zero before the first use of the bell. Every
// process that maps the bytes may make its own, for as long as they are mapped.
func NewBell(at []byte) Bell {
	line := (*[BellSize / 4]atomic.Uint32)(unsafe.Pointer((*[BellSize]byte)(at)))
	return Bell{generation: &line[0], sleepers: &line[1]}
}

// Ring wakes the sleepers at the bell. The caller must have stored the news before, by an
// atomic operation. Without sleepers it costs one load.
func (b Bell) Ring() {
	if b.anybody() {
		b.Shake()
	}
}

// anybody says whether a process sleeps at the bell. A waiter that is not counted yet sees the
// caller's earlier stores before it sleeps.
func (b Bell) anybody() bool {
	if weakStores {
		b.sleepers.Add(0) // a full fence
	}
	return b.sleepers.Load() != 0
}

// Shake wakes the sleepers so that they look again, as Ring does, but always
// makes the system call. It is for news outside the segment: a dead peer, say.
func (b Bell) Shake() {
	b.generation.Add(1)
	const everybody = 1<<31 - 1
	_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(b.generation)), futexWake, everybody, 0, 0, 0)
}

// Condition is what a waiter at a bell waits for.
type Condition interface {
	// Met reports whether the waiter may go on. It uses atomic operations, is cheap, and stays
	// true once it is.
	Met() bool
}

// Wait returns true once the condition is met, or false if the deadline has passed; the
// zero time is no deadline. It looks for about Spin, whatever the deadline, and
// then sleeps. Wait allocates nothing.
func (b Bell) Wait(until Condition, deadline time.Time) bool {
	return spin(until) || b.sleep(until, deadline)
}

// spin looks for about Spin. It yields the core in between, since the peer may
// need this very one. On an oversubscribed core a yield takes milliseconds, so spin reads the
// clock after each: a sleeper wakes sooner than a yielding thread gets its turn.
func spin(until Condition) bool {
	for range firstLooks {
		if until.Met() {
			return true
		}
	}
	for start := time.Now(); time.Since(start) < Spin; {
		_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
		if until.Met() {
			return true
		}
	}
	return false
}

func (b Bell) sleep(until Condition, deadline time.Time) bool {
	for {
		var timeout *unix.Timespec
		if !deadline.IsZero() {
			left := time.Until(deadline)
			if left <= 0 {
				return until.Met()
			}
			relative := unix.NsecToTimespec(int64(left))
			timeout = &relative
		}
		b.sleepers.Add(1)
		generation := b.generation.Load()
		if !until.Met() {
			// Whatever ends it, a wake, a signal or the timeout, the waiter looks
			// again. Syscall, unlike RawSyscall, lets other goroutines run meanwhile.
			_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(b.generation)),
				futexWait, uintptr(generation), uintptr(unsafe.Pointer(timeout)), 0, 0)
		}
		b.sleepers.Add(^uint32(0))
		if until.Met() {
			return true
		}
	}
}
