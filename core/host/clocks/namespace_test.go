package clocks

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
)

// asOther makes the test binary answer each line of input with a reading of its clock.
const asOther = "PSBENCH_TEST_CLOCK_OF_ANOTHER"

func TestMain(m *testing.M) {
	if os.Getenv(asOther) != "" {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			fmt.Println(comm.Now())
		}
		return
	}
	os.Exit(m.Run())
}

// other starts a process in a time namespace whose clock is ahead of this clock. lag delays each answer.
func other(t *testing.T, ahead time.Duration, lag func()) Ask {
	t.Helper()
	// #nosec G204 -- the test itself
	cmd := exec.Command("unshare", "--map-root-user", "--time", "--monotonic", strconv.Itoa(int(ahead.Seconds())),
		"--fork", "--kill-child", "/proc/self/exe")
	cmd.Args[len(cmd.Args)-1], _ = os.Executable()
	cmd.Env = append(os.Environ(), asOther+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaint strings.Builder
	cmd.Stderr = &complaint
	if err := cmd.Start(); err != nil {
		t.Skipf("there is no unshare of util-linux: %v", err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil && !t.Skipped() {
			t.Errorf("the other process ended with %v: %s", err, &complaint)
		}
	})
	answers := bufio.NewScanner(out)
	ask := func(context.Context) (int64, error) {
		if _, err := fmt.Fprintln(in); err != nil {
			return 0, err
		}
		lag()
		if !answers.Scan() {
			return 0, fmt.Errorf("there is no answer (%w)", answers.Err())
		}
		return strconv.ParseInt(answers.Text(), 10, 64)
	}
	if _, err := ask(t.Context()); err != nil { // fails if the process does not run
		_ = cmd.Wait()
		t.Skipf("there is no time namespace: %v: %s", err, &complaint)
	}
	return ask
}

// The estimate of a clock in another time namespace stays within its bound, before and after it is settled. The true
// offset is the offset that was set in the kernel.
func TestClockOfAnotherNamespace(t *testing.T) {
	for _, ahead := range []time.Duration{time.Hour, 7 * time.Second} {
		t.Run(fmt.Sprint(ahead), func(t *testing.T) {
			late := 0
			ask := other(t, ahead, func() { // makes the answer take much longer than the question
				if late++; late%5 == 0 {
					time.Sleep(3 * time.Millisecond)
				}
			})
			c := New(ask)
			for range 5 {
				if err := c.Read(t.Context()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(20 * time.Millisecond)
			}
			c.Settle()
			e := c.Estimate()
			now := comm.Now() // the other namespace reads exactly this plus ahead
			off := e.Here(now+int64(ahead)) - now
			t.Logf("%v ahead: found %d ns, drift %g, bound %d ns, off by %d ns", ahead, e.OffsetNS, e.Drift, e.BoundNS,
				off)
			if off < -e.BoundNS || off > e.BoundNS || e.BoundNS > int64(100*time.Millisecond) {
				t.Errorf("%v ahead: it is off by %d ns, and its bound is %d", ahead, off, e.BoundNS)
			}
		})
	}
}

// While Watch reads a clock, the bound of its estimate stays small.
func TestWatch(t *testing.T) {
	asked := make(chan struct{}, 2*questions)
	c := New(func(context.Context) (int64, error) {
		asked <- struct{}{}
		return comm.Now() + 1e9, nil
	})
	stop := Watch(t.Context(), []*Clock{c})
	for range questions {
		select {
		case <-asked:
		case <-time.After(time.Minute):
			t.Fatal("nobody reads the clock")
		}
	}
	stop()
	if e := c.Estimate(); len(c.exchanges) == 0 || e.Ahead(comm.Now()) < 1e9-e.BoundNS ||
		e.Ahead(comm.Now()) > 1e9+e.BoundNS {
		t.Errorf("after %d readings it is %+v", len(c.exchanges), e)
	}
}
