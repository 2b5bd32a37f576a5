package wire

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/comm"
)

// look is a waiter's polling before it sleeps. Polling only pays on an idle
// core. So the waiter yields the core between polls, and stops once a yield has
// let another thread run: a sleeping thread wakes sooner than a yielding thread
// gets its turn. The next waits then sleep at once. The number of such waits
// doubles each time, until a look succeeds. A yield does not let other
// goroutines of this process run, so at least one of the runtime's processors
// stays free for them.
type look struct {
	most    time.Duration
	blind   int // number of further waits that sleep at once
	blinded int // value of blind after the last yield to another thread
}

const (
	// lent is a time in ns; a longer yield has let another thread run.
	lent = 200_000
	// mostBlind is the maximum number of consecutive waits that sleep at once.
	mostBlind = 1 << 10
)

// looking is the number of goroutines of this process that poll; mostLooking is
// its maximum.
var (
	looking     atomic.Int32
	mostLooking = sync.OnceValue(func() int32 { return int32(runtime.GOMAXPROCS(0)) - 1 }) // #nosec G115 -- a count of cores
)

// mayLook reports whether the waiter may poll. If so, the waiter must call
// lookEnded afterwards.
func (l *look) mayLook() bool {
	if l.blind > 0 {
		l.blind--
		return false
	}
	if looking.Add(1) > mostLooking() {
		looking.Add(-1)
		return false
	}
	return true
}

// lookEnded ends a look. paid says whether the look was successful.
func (l *look) lookEnded(paid bool) {
	looking.Add(-1)
	if paid {
		l.blinded = 0
	}
}

// times returns the current time and the end of a look that begins now. A
// deadline other than 0 limits the look.
func (l *look) times(deadline int64) (now, until int64) {
	now = comm.Now()
	until = now + int64(l.most)
	if deadline != 0 {
		until = min(until, deadline)
	}
	return now, until
}

// yield lets other threads run on the core and returns the time afterwards. If
// another thread has run, it returns a time after the end of every look.
func (l *look) yield(before int64) int64 {
	_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	return l.yielded(before, comm.Now())
}

func (l *look) yielded(before, now int64) int64 {
	if now-before <= lent {
		return now
	}
	l.blinded = min(max(1, 2*l.blinded), mostBlind)
	l.blind = l.blinded
	return math.MaxInt64
}
