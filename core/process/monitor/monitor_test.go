package monitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/sdk/proto"
)

// TestMain makes the test binary act as a child that sends beats, if an environment variable asks for this.
func TestMain(m *testing.M) {
	if os.Getenv("PSBENCH_TEST_CHILD") != "" {
		beBeating()
		return
	}
	goleak.VerifyTestMain(m)
}

func waits(from string, about ...string) blame {
	return blame{from: from, failure: fault.Failure{Cause: fault.Wait, Message: from + " waited", About: about}}
}

func lost(from, peer string) blame {
	return blame{from: from,
		failure: fault.Failure{Cause: fault.Peer, Message: from + " lost " + peer, About: []string{peer}}}
}

func plain(from string) blame {
	return blame{from: from, failure: fault.Failure{Message: from + " failed"}}
}

func death(name string) blame { return blame{from: name, death: errors.New(name + " died")} }

func TestExplain(t *testing.T) {
	for name, c := range map[string]struct {
		blames []blame
		want   string
	}{
		"alone": {[]blame{lost("trainer0", "server2")}, "trainer0 lost server2"},
		"a death wins": {[]blame{plain("trainer0"), waits("server2", "trainer0"),
			lost("trainer0", "server2"), death("server2")}, "server2 died"},
		"the first death": {[]blame{death("data"), death("server2")}, "data died"},
		"an error wins over waits": {[]blame{waits("server2", "trainer0"), lost("x", "y"), plain("trainer0"),
			waits("trainer1", "server2")}, "trainer0 failed"},
		"the chain's end": {[]blame{waits("trainer0", "server2"), waits("server2", "trainer1")},
			"server2 waited"},
		"the chain's end first": {[]blame{waits("server2", "trainer1"), waits("trainer0", "server2")},
			"server2 waited"},
		"one of two is to blame": {[]blame{waits("trainer0", "server2"), waits("server2", "trainer0", "trainer1")},
			"server2 waited"},
		"who is waited for lost the last": {
			[]blame{waits("trainer1.hook", "server2"), lost("trainer0.hook", "server2"),
				waits("server2", "trainer1.hook"), waits("trainer0", "trainer0.hook")},
			"trainer1.hook waited",
		},
		"who is waited for lost the waiter": {[]blame{waits("server2", "trainer1"), waits("trainer1", "trainer0"),
			lost("trainer0", "trainer1")}, "trainer1 waited"},
		"a ring": {[]blame{waits("trainer0", "trainer3"), waits("trainer3", "trainer2"),
			waits("trainer2", "trainer1")}, "trainer2 waited"},
		"a closed ring": {[]blame{waits("trainer0", "trainer1"), waits("trainer1", "trainer0")},
			"trainer0 waited"},
		"who hangs tells of itself": {[]blame{waits("trainer0", "server2"), waits("server2", "trainer1"),
			waits("trainer1", "trainer1")}, "server2 waited"},
		"who tells of itself waits": {[]blame{waits("trainer0", "trainer0"), waits("trainer0", "server2")},
			"trainer0 waited"},
		"it waits for a waiter": {[]blame{waits("trainer1", "trainer1"), waits("trainer1", "server2"),
			waits("server2", "trainer0")}, "server2 waited"},
		"a wait wins over a link": {[]blame{lost("trainer1", "server2"), waits("server2", "trainer0")},
			"server2 waited"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := explain(c.blames).Error(); got != c.want {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		})
	}
}

func TestFailureOf(t *testing.T) {
	detailed, err := status.New(codes.Unknown, "x").WithDetails(&proto.Failure{Cause: proto.Failure_CAUSE_PEER,
		Message: "told", About: []string{"server1"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		err   error
		cause fault.Cause
		want  string
		about string
	}{
		"a wait": {&comm.WaitError{Waiter: "the core", For: []string{"data"}, What: "loading", Seconds: 2},
			fault.Wait, "the core waited 2 s for loading from data", "[data]"},
		"told": {detailed.Err(), fault.Peer, "told", "[server1]"},
		"gone": {status.Error(codes.Unavailable, "EOF"), fault.Peer, "trainer0 no longer answers",
			"[trainer0]"},
		"other status": {status.Error(codes.Internal, "odd"), fault.Other, "trainer0: odd", "[]"},
		"any error":    {io.ErrUnexpectedEOF, fault.Other, "unexpected EOF", "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			f := failureOf(c.err, "trainer0")
			if f.Cause != c.cause || f.Message != c.want || fmt.Sprint(f.About) != c.about {
				t.Errorf("%s: %v", name, f)
			}
		})
	}
}

// monitored returns a monitor whose run ends with the test.
func monitored(t *testing.T, ctx context.Context, timeout time.Duration) (context.Context, *Monitor) { //nolint:revive // the context is under test
	t.Helper()
	ctx, m := New(ctx, timeout)
	t.Cleanup(m.Stop)
	return ctx, m
}

func TestMonitorWaitsForTheExplanation(t *testing.T) {
	for name, c := range map[string]struct {
		blames []blame
		want   string
	}{
		"a death after its consequences": {[]blame{lost("trainer0", "server2"), plain("trainer1"), death("server2")},
			"server2 died"},
		"a wait further on": {[]blame{waits("trainer0", "server2"), waits("server2", "trainer1")},
			"server2 waited"},
		"a plain error": {[]blame{plain("trainer1")}, "trainer1 failed"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, m := monitored(t, t.Context(), time.Minute)
			for _, b := range c.blames {
				m.add(b)
			}
			<-ctx.Done()
			err := m.Verdict(errors.New("a call was cancelled"))
			if err.Error() != c.want || !errors.Is(context.Cause(ctx), err) {
				t.Errorf("%s: the verdict is %v, the run's cause %v", name, err, context.Cause(ctx))
			}
			m.add(death("late"))
			if again := m.Verdict(nil); !errors.Is(again, err) {
				t.Errorf("%s: a later death changed the verdict to %v", name, again)
			}
		})
	}
}

// If a link breaks, the monitor blames a death that is reported late, as on a busy machine. The monitor waits for this
// death if the connection to the process broke too, or while the process sends no heartbeats.
func TestMonitorWaitsForALateDeath(t *testing.T) {
	for name, c := range map[string]struct {
		cut     bool
		deathAt time.Duration // 0 means that the process lives and sends heartbeats
		want    string
		most    time.Duration // longest time until the verdict
	}{
		"the connection broke": {cut: true, deathAt: 4 * time.Second, want: "server2 died",
			most: 4 * time.Second},
		"no sign of life": {deathAt: 1500 * time.Millisecond, want: "server2 died",
			most: 1500 * time.Millisecond},
		"it lives": {want: "trainer0 lost server2", most: 1200 * time.Millisecond},
		"a connection, but no death": {cut: true, deathAt: time.Hour, want: "trainer0 lost server2",
			most: graceForEnd + 200*time.Millisecond},
		"no sign of life, no death": {deathAt: time.Hour, want: "trainer0 lost server2",
			most: graceForSign + 200*time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, m := New(t.Context(), time.Minute)
				defer m.Stop()
				start := time.Now()
				m.hear("server2")
				time.Sleep(time.Millisecond)
				m.add(lost("trainer0", "server2"))
				if c.cut {
					m.lose("server2")
				}
				var told *time.Timer
				if c.deathAt > 0 {
					told = time.AfterFunc(c.deathAt, func() { m.add(death("server2")) })
				} else {
					told = time.AfterFunc(time.Second, func() { m.hear("server2") })
				}
				defer told.Stop()
				err := m.Verdict(errors.New("a call was cancelled"))
				if took := time.Since(start); err.Error() != c.want || took > c.most+time.Millisecond {
					t.Errorf("the verdict is %v, after %v", err, took)
				}
			})
		})
	}
}

func TestMonitorAloneTakesTheError(t *testing.T) {
	_, m := monitored(t, t.Context(), time.Minute)
	why := errors.New("the plans differ")
	if err := m.Verdict(why); !errors.Is(err, why) {
		t.Errorf("the verdict is %v", err)
	}
}

func TestMonitorIsInterrupted(t *testing.T) {
	outer, cancel := context.WithCancel(t.Context())
	ctx, m := monitored(t, outer, time.Minute)
	cancel()
	<-m.ended
	if err := m.Verdict(errors.New("cancelled")); !errors.Is(err, ErrInterrupted) ||
		!errors.Is(context.Cause(ctx), context.Canceled) && !errors.Is(context.Cause(ctx), ErrInterrupted) {
		t.Errorf("the verdict is %v, the cause %v", err, context.Cause(ctx))
	}
}

func TestSilentProcesses(t *testing.T) {
	_, m := monitored(t, t.Context(), time.Minute)
	m.hear("trainer0")
	m.hear("server1")
	now := time.Now()
	if names := m.overdue(now); len(names) != 0 {
		t.Errorf("silent at once: %v", names)
	}
	m.mu.Lock()
	m.heard["server1"] = now.Add(time.Hour)
	m.mu.Unlock()
	late := now.Add(m.timeout + beatSlack + time.Second)
	if names := m.overdue(late); len(names) != 1 || names[0] != "trainer0" {
		t.Errorf("silent are %v", names)
	}
	if names := m.overdue(late); len(names) != 0 {
		t.Errorf("told twice of %v", names)
	}
}

// The verdict names a silent process for which others waited, even if a busy machine keeps other processes from sending
// heartbeats. If no one waited for a silent process, the verdict names the process that was silent the longest.
func TestTheSilentProcessThatWasWaitedForIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		blames []blame
		want   string
	}{
		"it is waited for": {[]blame{waits("trainer1", "server2"), waits("server2", "trainer0"),
			waits("trainer0", "trainer0.model")}, "trainer0 waited"},
		"which is told later": {[]blame{waits("trainer1", "server2"), waits("server2", "trainer0")},
			"server2 waited; trainer0.model sends no heartbeat"},
		"nobody waits for them": {[]blame{waits("trainer1", "server2")},
			"trainer1 waited; trainer0.model sends no heartbeat"},
		"on the way to another": {[]blame{waits("trainer1", "server2"), waits("trainer0", "data", "trainer1")},
			"trainer1 waited; data sends no heartbeat"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, m := New(t.Context(), time.Minute)
				defer m.Stop()
				m.hear("trainer0.model")
				time.Sleep(time.Second)
				m.hear("data")
				time.Sleep(10 * time.Second)
				beat := func() {
					for _, name := range []string{"trainer0", "trainer1", "server2"} {
						m.hear(name)
					}
				}
				beat()
				defer time.AfterFunc(time.Second, beat).Stop()
				for _, b := range c.blames {
					m.add(b)
				}
				if err := m.Verdict(errors.New("a call was cancelled")); err.Error() != c.want {
					t.Errorf("the verdict is %v, want %s", err, c.want)
				}
			})
		})
	}
}

func TestCallIsBounded(t *testing.T) {
	forever := func(ctx context.Context) error {
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
	var wait *comm.WaitError
	if err := bounded(t.Context(), "data", time.Millisecond, "loading", forever); !errors.As(err, &wait) ||
		wait.For[0] != "data" || wait.What != "loading" {
		t.Errorf("a call that takes too long gave %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := bounded(ended, "data", time.Minute, "loading", forever); err == nil || errors.As(err, &wait) {
		t.Errorf("a call whose run ended gave %v", err)
	}
	why := errors.New("no")
	if err := bounded(t.Context(), "data", 0, "", func(context.Context) error { return why }); !errors.Is(err, why) {
		t.Errorf("a call that fails gave %v", err)
	}
}

func TestFailedCallIsReported(t *testing.T) {
	_, m := monitored(t, t.Context(), time.Minute)
	why := errors.New("no")
	if err := m.Call(t.Context(), "data", 0, "", func(context.Context) error { return why }); !errors.Is(err, why) {
		t.Errorf("the call gave %v", err)
	}
	if err := m.Verdict(errors.New("ended")); err.Error() != "no" {
		t.Errorf("the verdict is %v", err)
	}
}
