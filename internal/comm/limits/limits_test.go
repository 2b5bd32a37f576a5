package limits

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Copy rates differ widely between machines, and a busy machine may reach a
// thousandth of its usual rate. These bounds only detect a wrong unit.
func plausible(t *testing.T, gbps float64) {
	t.Helper()
	if gbps < 1e-6 || gbps > 1e4 {
		t.Errorf("the rate is %v GB/s", gbps)
	}
}

func TestCopy(t *testing.T) {
	for _, footprint := range []int{4096, 10_000, 8 << 20} {
		t.Run(fmt.Sprint(footprint), func(t *testing.T) {
			for _, cores := range []int{1, Cores()} {
				for _, dirty := range []bool{false, true} {
					if dirty && Cores() < 2 {
						continue
					}
					gbps, err := Copy(Copying{Footprint: footprint, Cores: cores, Dirty: dirty}, time.Millisecond)
					if err != nil {
						t.Error(err)
					}
					plausible(t, gbps)
				}
			}
		})
	}
}

// The copy really happens: the destination equals the source of the last round.
func TestCopiersCopyAll(t *testing.T) {
	if Cores() < 2 {
		t.Skip("there is one core")
	}
	const share = 3*blockBytes + 64
	k := newCopiers(Copying{Footprint: 4 * share, Cores: 2, Dirty: true}, share, make([]byte, 4*share))
	k.run(0)
	rounds := 1 + len(k.rates[0]) + len(k.rates[1])
	for core := range 2 {
		for i := range share {
			if got := k.destination(core)[i]; got != byte(rounds-1) || got != k.source(core)[i] {
				t.Fatalf("byte %d of core %d is %d after %d rounds", i, core, got, rounds)
			}
		}
	}
}

func TestCopyRefusals(t *testing.T) {
	for _, c := range []Copying{{Footprint: 4096}, {Footprint: 4096, Cores: Cores() + 1}, {Footprint: 1, Cores: 1}} {
		t.Run(fmt.Sprint(c.Footprint), func(t *testing.T) {
			if _, err := Copy(c, time.Millisecond); err == nil {
				t.Errorf("%+v is measured", c)
			}
		})
	}
	if _, err := Copy(Copying{Footprint: 1 << 60, Cores: 1}, time.Millisecond); err == nil ||
		!strings.Contains(err.Error(), "no 1099511627776 MiB of memory") {
		t.Errorf("too much memory gives %v", err)
	}
}

// A thread does not stay pinned to its core after the measurement.
func TestPinIsReleased(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := allowedCPUs()
	release := pin(before[len(before)-1])
	if now := allowedCPUs(); len(now) != 1 || now[0] != before[len(before)-1] {
		t.Errorf("pinned to %v", now)
	}
	release()
	if now := allowedCPUs(); len(now) != len(before) {
		t.Errorf("after release on %v, before on %v", now, before)
	}
}

func TestLoopback(t *testing.T) {
	for _, both := range []bool{false, true} {
		t.Run(fmt.Sprint(both), func(t *testing.T) {
			gbps, err := Loopback(2, both, 20*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			plausible(t, gbps)
		})
	}
}

func TestReceiveFailures(t *testing.T) {
	a, b, err := connected()
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Close(a); err != nil {
		t.Fatal(err)
	}
	if _, err := receive(b); err == nil {
		t.Error("an end without a byte gives no error")
	}
	if err := unix.Close(b); err != nil {
		t.Fatal(err)
	}
	if _, err := receive(b); err == nil {
		t.Error("a closed descriptor gives no error")
	}
}

func TestMedian(t *testing.T) {
	if got := median([]float64{5, 1, 3}); got != 3 {
		t.Errorf("the median is %v", got)
	}
	if got := median(nil); got != 0 {
		t.Errorf("the median of nothing is %v", got)
	}
}

func TestBandwidth(t *testing.T) {
	for _, cores := range []int{1, 3} {
		t.Run(fmt.Sprint(cores), func(t *testing.T) {
			if gbps, err := Bandwidth(cores, 1<<20, time.Millisecond); err != nil || gbps <= 0 || gbps > 1e4 {
				t.Errorf("%d cores copied %v GB/s, %v", cores, gbps, err)
			}
		})
	}
	for i, c := range [][2]int{{0, 1 << 20}, {-1, 1 << 20}, {1, 100}, {1 << 20, 1 << 20}} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if _, err := Bandwidth(c[0], c[1], time.Millisecond); err == nil {
				t.Errorf("%d cores copied %d bytes", c[0], c[1])
			}
		})
	}
}
