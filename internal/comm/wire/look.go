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

// look is a waiter's polling before it sleeps, which pays only on an idle core. So the waiter yields the core in
// between, and stops once a yield has let another thread run: a sleeper wakes sooner than a yielding thread gets
// its turn. The next waits then sleep at once, twice as many each time until a look pays. A yield gives no turn to
// goroutines of this process, so at least one of the runtime's processors is left to them.
type look struct {
	most    time.Duration
	blind   int // waits that are still to sleep at once
	blinded int // how many of them the last yield to another thread caused
}

const (
	// lent is longer than a yield that lets no other thread run, in ns.
	lent = 200_000
	// mostBlind bounds the waits that sleep at once, one after the other.
	mostBlind = 1 << 10
)

// looking counts the goroutines of this process that look; mostLooking bounds them.
var (
	looking     atomic.Int32
	mostLooking = sync.OnceValue(func() int32 { return int32(runtime.GOMAXPROCS(0)) - 1 }) // #nosec G115 -- a count of cores
)

// mayLook says whether to look at all. If so, lookEnded comes when that is over.
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

// lookEnded ends a look, which paid or did not.
func (l *look) lookEnded(paid bool) {
	looking.Add(-1)
	if paid {
		l.blinded = 0
	}
}

// times are now and the end of a look that begins now, which a deadline may bound; 0 is none.
func (l *look) times(deadline int64) (now, until int64) {
	now = comm.Now()
	until = now + int64(l.most)
	if deadline != 0 {
		until = min(until, deadline)
	}
	return now, until
}

// yield gives the core to other threads and returns the time afterwards. If another thread ran meanwhile, it returns
// a time at which every look is over.
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
