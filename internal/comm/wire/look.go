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

// look is how one who waits looks again and again before it sleeps: on a core that nobody else
// wants. So it yields the core in between, and ends once a yield has let somebody run: who sleeps is
// woken sooner than who yields gets its turn. The next waits sleep at once then, twice as many each
// time until a look pays. Goroutines of this process get no turn by a yield, so one of the runtime's processors at
// least is left to them.
type look struct {
	most    time.Duration
	blind   int // waits that are still to sleep at once
	blinded int // how many the last yield that let somebody run made so
}

const (
	// lent is longer than a yield takes that lets nobody run, in ns.
	lent = 200_000
	// mostBlind bounds the waits that sleep at once, one after the other.
	mostBlind = 1 << 10
)

// looking counts the goroutines of this process that look, of which mostLooking may.
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

// yield gives the core to who wants it, and is the time afterwards; if somebody ran meanwhile, one at which
// every look is over.
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
