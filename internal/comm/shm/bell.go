package shm

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// BellSize is the size of a bell in bytes: a cache line.
const BellSize = 64

// Spin is the approximate time for which a waiter polls before it sleeps. A
// working peer answers within this time, and a sleep with its wake-up costs
// about as much.
const Spin = 50 * time.Microsecond

// firstLooks is the number of polls without a system call. The answer to a
// small message takes about 1 us.
const firstLooks = 64

// Operations of futex(2). Without FUTEX_PRIVATE_FLAG they also work between
// processes.
const (
	futexWait = 0
	futexWake = 1
)

// Bell is where a process sleeps until a peer has news for it. A bell lies in
// the sleeper's segment. Word 0 is the generation, on which the sleepers sleep
// (futex); word 1 counts the sleepers.
//
// No wake-up is lost. The ringer stores its news and then loads the count. The
// waiter raises the count and then loads the news. All four operations are
// sequentially consistent, so at least one side sees the other (Dekker's
// argument). If the bell rings between the waiter's last check and its sleep,
// the ring has raised the generation; the kernel compares the generation before
// it lets the waiter sleep.
//
// If a process dies while it is counted, the count stays too high. The only
// cost is useless wake-ups.
type Bell struct{ generation, sleepers *atomic.Uint32 }

// NewBell returns the bell in the first BellSize bytes of the slice at. The
// slice must begin at a multiple of BellSize and be zero before the first use
// of the bell. Every process that maps the bytes may make its own Bell, which
// is valid as long as they are mapped.
func NewBell(at []byte) Bell {
	line := (*[BellSize / 4]atomic.Uint32)(unsafe.Pointer((*[BellSize]byte)(at)))
	return Bell{generation: &line[0], sleepers: &line[1]}
}

// Ring wakes the sleepers at the bell. The caller must first have stored its
// news by an atomic operation. Without sleepers Ring costs one load.
func (b Bell) Ring() {
	if b.anybody() {
		b.Shake()
	}
}

// anybody reports whether a process sleeps at the bell. A waiter that is not
// counted yet will see the caller's earlier stores before it sleeps.
func (b Bell) anybody() bool {
	if weakStores {
		b.sleepers.Add(0) // a full fence
	}
	return b.sleepers.Load() != 0
}

// Shake wakes the sleepers so that they check again. Unlike Ring it always
// makes the system call. Use it for news outside the segment, such as a dead
// peer.
func (b Bell) Shake() {
	b.generation.Add(1)
	const everybody = 1<<31 - 1
	_, _, _ = unix.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(b.generation)), futexWake, everybody, 0, 0, 0)
}

// Condition is the condition that a waiter at a bell waits for.
type Condition interface {
	// Met reports whether the waiter may go on. Met must use atomic operations,
	// be cheap, and stay true once it is true.
	Met() bool
}

// Wait returns true once the condition is met, or false if the deadline has
// passed. The zero time means no deadline. Wait polls for about Spin, whatever
// the deadline, and then sleeps. Wait allocates nothing.
func (b Bell) Wait(until Condition, deadline time.Time) bool {
	return spin(until) || b.sleep(until, deadline)
}

// spin polls for about Spin. spin yields the core between polls, since the peer
// may need this core. On an oversubscribed core a yield takes milliseconds, so
// spin reads the clock after each yield: a sleeping thread wakes sooner than a
// yielding thread gets its turn.
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
			// A wake-up, a signal or the timeout ends the call; in each case
			// the waiter checks again. Syscall, unlike RawSyscall, lets other
			// goroutines run meanwhile.
			_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(b.generation)),
				futexWait, uintptr(generation), uintptr(unsafe.Pointer(timeout)), 0, 0)
		}
		b.sleepers.Add(^uint32(0))
		if until.Met() {
			return true
		}
	}
}
