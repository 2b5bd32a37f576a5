package wire

import (
	"math"
	"testing"
	"time"
)

// After a yield has let another thread run, the next waits sleep at once. The
// number of such waits doubles each time, up to a limit, until a look succeeds.
func TestLookingIsForIdleCores(t *testing.T) {
	allowLooking(t, 1)
	l := look{most: time.Millisecond}
	if l.yielded(5, 5+lent) != 5+lent {
		t.Error("it ends although nobody ran")
	}
	for want := 1; want <= 4*mostBlind; want *= 2 {
		if l.yielded(5, 6+lent) != math.MaxInt64 {
			t.Fatal("it goes on although somebody ran")
		}
		slept := 0
		for !l.mayLook() {
			slept++
		}
		l.lookEnded(false)
		if slept != min(want, mostBlind) {
			t.Errorf("%d waits slept at once, want %d", slept, min(want, mostBlind))
		}
	}
	l.lookEnded(l.mayLook())
	l.yielded(5, 6+lent)
	if l.blind != 1 {
		t.Errorf("%d waits are to sleep at once after a look that paid, want 1", l.blind)
	}
}

// One of the runtime's processors stays free for goroutines that do not poll.
func TestFewLookAtOnce(t *testing.T) {
	allowLooking(t, 2)
	all := make([]look, 3)
	for i := range all {
		if all[i].mayLook() != (i < 2) {
			t.Errorf("waiter %d looks: %v", i, i >= 2)
		}
	}
	all[0].lookEnded(false)
	if !all[2].mayLook() {
		t.Error("nobody looks in the place of who has ended")
	}
	all[1].lookEnded(false)
	all[2].lookEnded(false)
	if n := looking.Load(); n != 0 {
		t.Errorf("%d look", n)
	}
}

// A deadline limits a look.
func TestTimesOfALook(t *testing.T) {
	l := look{most: time.Minute}
	if now, until := l.times(0); until != now+int64(time.Minute) {
		t.Errorf("a look from %d lasts until %d", now, until)
	}
	if _, until := l.times(7); until != 7 {
		t.Errorf("a look with a deadline at 7 lasts until %d", until)
	}
}

func allowLooking(t *testing.T, most int32) {
	before := mostLooking
	mostLooking = func() int32 { return most }
	t.Cleanup(func() { mostLooking = before })
}
