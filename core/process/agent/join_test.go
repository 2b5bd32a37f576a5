package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/psbench/psbench/core/process/launchers/rollcall"
)

// freeAddress returns a local address with a port that was free a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func taskOf(rank, size int) rollcall.Task {
	return rollcall.Task{Rank: rank, Size: size, Local: 0, Host: fmt.Sprintf("node%d", rank), Version: "v1",
		Binary: "00112233445566"}
}

// joined is the result of Join for one task.
type joined struct {
	meeting *Meeting
	err     error
}

// joinAll runs Join for all tasks at once, each with its own secret. joinAll returns the results in the tasks' order.
func joinAll(t *testing.T, timeout time.Duration, tasks []rollcall.Task, secrets ...string) []joined {
	t.Helper()
	core := freeAddress(t)
	results := make([]chan joined, len(tasks))
	for i, task := range tasks {
		results[i] = make(chan joined, 1)
		secret := ours
		if i < len(secrets) {
			secret = secrets[i]
		}
		go func() {
			m, err := Join(context.Background(), []byte(secret), core, task, netip.MustParseAddr("127.0.0.1"), timeout)
			results[i] <- joined{m, err}
		}()
	}
	all := make([]joined, len(tasks))
	for i := range results {
		all[i] = <-results[i]
		if m := all[i].meeting; m != nil && m.Listener != nil {
			t.Cleanup(func() { _ = m.Listener.Close() })
		}
	}
	return all
}

func TestTasksJoinAtTheCore(t *testing.T) {
	all := joinAll(t, patience, []rollcall.Task{taskOf(0, 3), taskOf(2, 3), taskOf(1, 3)})
	for i, j := range all {
		if j.err != nil {
			t.Fatalf("task %d: %v", i, j.err)
		}
	}
	tasks := all[0].meeting.Tasks
	if len(tasks) != 3 || tasks[1].Address != all[2].meeting.Listener.Addr().String() ||
		tasks[2].Address != all[1].meeting.Listener.Addr().String() {
		t.Errorf("the core has %+v", tasks)
	}
}

// If the tasks do not fit together, the core ends with the reason. Every agent's join fails too.
func TestTasksThatDoNotFitDoNotJoin(t *testing.T) {
	other := func(change func(*rollcall.Task)) []rollcall.Task {
		tasks := []rollcall.Task{taskOf(0, 2), taskOf(1, 2)}
		change(&tasks[1])
		return tasks
	}
	for name, c := range map[string]struct {
		tasks []rollcall.Task
		want  string
	}{
		"size": {other(func(t *rollcall.Task) { t.Size = 3 }),
			"rank 1 on node1 counts 3 tasks, but rank 0 on node0 counts 2"},
		"binary": {other(func(t *rollcall.Task) { t.Binary = "ff" }),
			"rank 1 on node1 has another psbench than rank 0 on node0"},
		"host":  {other(func(t *rollcall.Task) { t.Host, t.Local = "node0", 1 }), "ranks 0 and 1 both run on node0"},
		"twice": {[]rollcall.Task{taskOf(0, 3), taskOf(1, 3), taskOf(1, 3)}, "two tasks are rank 1"},
	} {
		t.Run(name, func(t *testing.T) {
			all := joinAll(t, 3*time.Second, c.tasks)
			if err := all[0].err; err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the core says %v", err)
			}
			for _, j := range all[1:] {
				if j.err == nil {
					t.Error("an agent goes on")
				}
			}
		})
	}
}

func TestWhoIsMissingIsNamed(t *testing.T) {
	all := joinAll(t, time.Second, []rollcall.Task{taskOf(0, 4), taskOf(2, 4)})
	if err := all[0].err; err == nil || !strings.Contains(err.Error(), "nothing has come from rank 1, 3 within 1 s") {
		t.Errorf("the core says %v", err)
	}
	if !errors.Is(all[1].err, ErrFailed) {
		t.Errorf("the agent says %v", all[1].err)
	}
}

// A task with another secret is refused, and the core sends it no data.
func TestAnotherSecretDoesNotJoin(t *testing.T) {
	all := joinAll(t, time.Second, []rollcall.Task{taskOf(0, 2), taskOf(1, 2)}, ours, theirs)
	told := regexp.MustCompile(
		`nothing has come from rank 1 within 1 s; a caller at 127\.0\.0\.1:[0-9]+ has another secret$`)
	if err := all[0].err; err == nil || !told.MatchString(err.Error()) {
		t.Errorf("the core says %v", err)
	}
	if err := all[1].err; err == nil || !strings.Contains(err.Error(), "does not know the secret") {
		t.Errorf("the agent says %v", err)
	}
}

// A failed join reports its most informative error, rather than a final refusal or timeout.
func TestTellsMore(t *testing.T) {
	refused, stranger := fmt.Errorf("dial: %w", syscall.ECONNREFUSED), errors.New("the peer does not know the secret")
	for i, test := range []struct {
		again, before error
		want          bool
	}{
		{stranger, refused, true}, {refused, refused, true}, {stranger, stranger, true},
		{refused, stranger, false}, {context.DeadlineExceeded, refused, false},
		{context.DeadlineExceeded, stranger, false},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if got := tellsMore(test.again, test.before); got != test.want {
				t.Errorf("%v after %v tells more: %t", test.again, test.before, got)
			}
		})
	}
}

// Silent strangers at the core's port do not prevent agents from joining.
func TestStrangersDoNotKeepTasksApart(t *testing.T) {
	core := freeAddress(t)
	join := func(rank int) chan joined {
		result := make(chan joined, 1)
		go func() {
			m, err := Join(context.Background(), []byte(ours), core, taskOf(rank, 2), netip.MustParseAddr("127.0.0.1"),
				patience)
			result <- joined{m, err}
		}()
		return result
	}
	first := join(0)
	for called := 0; called < 3*mostStrangers; {
		conn, err := net.Dial("tcp", core)
		if err != nil { // the core does not listen yet
			time.Sleep(time.Millisecond)
			continue
		}
		defer func() { _ = conn.Close() }()
		called++
	}
	began := time.Now()
	agent, met := <-join(1), <-first
	if met.err != nil || agent.err != nil {
		t.Fatalf("the core says %v, the agent %v", met.err, agent.err)
	}
	_ = agent.meeting.Listener.Close()
	if took := time.Since(began); took > strangerLimit {
		t.Errorf("they have met after %v", took)
	}
}
