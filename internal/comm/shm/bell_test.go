package shm

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// heapBell returns a bell in Go's heap, which the race detector can check.
func heapBell() Bell {
	var room [2 * BellSize]byte
	at := &room
	skip := int(-uintptr(unsafe.Pointer(at)) % BellSize)
	return NewBell(at[skip:])
}

// asleep waits until this many goroutines sleep at the bell.
func asleep(t testing.TB, b Bell, count uint32) {
	t.Helper()
	for end := time.Now().Add(patience); b.sleepers.Load() != count; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d sleep at the bell, want %d", b.sleepers.Load(), count)
		}
	}
	time.Sleep(10 * time.Millisecond) // a few instructions separate the count from the sleep
}

func soon() time.Time { return time.Now().Add(patience) }

func TestBellLayout(t *testing.T) {
	at := make([]byte, BellSize)
	b := NewBell(at)
	b.generation.Store(0x01020304)
	b.sleepers.Store(0x05060708)
	if string(at[:8]) != "\x04\x03\x02\x01\x08\x07\x06\x05" {
		t.Errorf("the bell begins with % x", at[:8])
	}
}

// when is a Condition made from a function.
type when func() bool

func (w when) Met() bool { return w() }

func TestWaitLooks(t *testing.T) {
	b := heapBell()
	calls := 0
	ready := when(func() bool { calls++; return calls > firstLooks })
	if !b.Wait(ready, soon()) {
		t.Errorf("Wait did not see that it is ready")
	}
	if b.generation.Load() != 0 || b.sleepers.Load() != 0 {
		t.Errorf("a wait left generation %d and %d sleepers", b.generation.Load(), b.sleepers.Load())
	}
}

func TestDeadline(t *testing.T) {
	never := when(func() bool { return false })
	for _, limit := range []time.Duration{-time.Second, 0, time.Microsecond, 30 * time.Millisecond} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			b := heapBell()
			begin := time.Now()
			if b.Wait(never, begin.Add(limit)) {
				t.Errorf("Wait says ready")
			}
			if passed := time.Since(begin); passed < limit || passed > patience/2 {
				t.Errorf("a wait of %v took %v", limit, passed)
			}
			if b.sleepers.Load() != 0 {
				t.Errorf("a wait left %d sleepers", b.sleepers.Load())
			}
		})
	}
}

func TestRingAndShakeWakeAll(t *testing.T) {
	for name, wake := range map[string]func(Bell){"ring": Bell.Ring, "shake": Bell.Shake} {
		for _, deadline := range []time.Time{{}, soon()} {
			t.Run(fmt.Sprintf("%s, deadline %v", name, !deadline.IsZero()), func(t *testing.T) {
				b := heapBell()
				var set atomic.Bool
				woken := make(chan bool)
				for range 3 {
					go func() { woken <- b.Wait(when(set.Load), deadline) }()
				}
				asleep(t, b, 3)
				set.Store(true)
				wake(b)
				for range 3 {
					select {
					case ok := <-woken:
						if !ok {
							t.Errorf("a waiter says that its deadline has passed")
						}
					case <-time.After(patience):
						t.Fatalf("a waiter was not woken")
					}
				}
				if b.sleepers.Load() != 0 {
					t.Errorf("%d sleepers are left", b.sleepers.Load())
				}
			})
		}
	}
}

// A waiter does not return if the bell shakes without news.
func TestWokenForNothing(t *testing.T) {
	b := heapBell()
	var looks atomic.Int64
	done := make(chan bool)
	go func() {
		done <- b.Wait(when(func() bool { looks.Add(1); return false }), time.Now().Add(200*time.Millisecond))
	}()
	asleep(t, b, 1)
	before := looks.Load()
	b.Shake()
	if <-done {
		t.Errorf("Wait says ready")
	}
	if looks.Load() == before {
		t.Errorf("the waiter did not look again")
	}
}

// A ring between the waiter's last check and its sleep keeps the waiter awake.
func TestRingBeforeSleep(t *testing.T) {
	b := heapBell()
	looks := 0
	ready := when(func() bool {
		looks++
		if looks == 1 {
			b.Ring()
		}
		return looks > 1
	})
	begin := time.Now()
	if !b.sleep(ready, soon()) || time.Since(begin) > patience/2 {
		t.Errorf("the waiter slept for %v, past a ring", time.Since(begin))
	}
}

func TestRingCostsNothingWithoutSleepers(t *testing.T) {
	b := heapBell()
	b.Ring()
	if b.generation.Load() != 0 {
		t.Errorf("a ring for nobody raised the generation")
	}
	b.Shake()
	if b.generation.Load() != 1 {
		t.Errorf("a shake did not raise the generation")
	}
}

func TestBellAllocatesNothing(t *testing.T) {
	b := heapBell()
	var set atomic.Bool
	always, isSet := when(func() bool { return true }), when(set.Load)
	for name, f := range map[string]func(){
		"ready at once": func() { b.Wait(always, soon()) },
		"asleep":        func() { b.Wait(isSet, time.Now().Add(Spin+20*time.Microsecond)) },
		"ring":          b.Ring,
		"shake":         b.Shake,
	} {
		t.Run(name, func(t *testing.T) {
			if count := testing.AllocsPerRun(100, f); count != 0 {
				t.Errorf("%s: %v allocations", name, count)
			}
		})
	}
}

// A process that is killed while it sleeps stays counted, but does no other
// harm.
func TestSleeperDies(t *testing.T) {
	s := newSegment(t, BellSize)
	b := NewBell(s.Bytes())
	h := start(t, "sleeper")
	must(t, SendFDs(h.conn, []byte("x"), s.FD()))
	asleep(t, b, 1)
	must(t, h.cmd.Process.Kill())
	_ = h.cmd.Wait()
	if got := b.sleepers.Load(); got != 1 {
		t.Fatalf("%d sleepers are counted, want the dead one", got)
	}
	var set atomic.Bool
	woken := make(chan bool)
	go func() { woken <- b.Wait(when(set.Load), soon()) }()
	asleep(t, b, 2)
	set.Store(true)
	b.Ring()
	if !<-woken {
		t.Errorf("the living was not woken")
	}
}

func helpSleeper(c *net.UnixConn) error {
	s, err := receiveSegment(c, BellSize)
	if err != nil {
		return err
	}
	NewBell(s.Bytes()).Wait(when(func() bool { return false }), soon())
	return errors.New("nobody killed the sleeper")
}

func TestWaitingIsIdle(t *testing.T) {
	t.Parallel()
	report := start(t, "idle").wait(t)
	var used time.Duration
	_, err := fmt.Sscan(report, (*int64)(&used))
	must(t, err)
	if used > idleTime/100 {
		t.Errorf("a wait of %v used %v of a core, want less than 1 %%", idleTime, used)
	}
}

const idleTime = 5 * time.Second

func helpIdle(c *net.UnixConn) error {
	b := heapBell()
	before, err := cpuTime()
	if err != nil {
		return err
	}
	b.Wait(when(func() bool { return false }), time.Now().Add(idleTime))
	after, err := cpuTime()
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(c, int64(after-before))
	return err
}

// cpuTime is the CPU time of this process, over all cores.
func cpuTime() (time.Duration, error) {
	var usage unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}
