package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/psbench/psbench/core/process/launchers/pmi"
	"github.com/psbench/psbench/core/process/launchers/pmi/pmitest"
	"github.com/psbench/psbench/core/process/launchers/rollcall"
)

// meet runs Meet for the given tasks of a job with size tasks.
func meet(t *testing.T, size int, timeout time.Duration, tasks ...rollcall.Task) ([]*Meeting, []error) {
	t.Helper()
	s := &pmitest.Server{Size: size}
	met, errs := make([]*Meeting, len(tasks)), make([]error, len(tasks))
	var meeting sync.WaitGroup
	for i, task := range tasks {
		conn := s.Dial(t, task.Rank)
		meeting.Go(func() {
			c, err := pmi.Open(t.Context(), conn, timeout)
			if err != nil {
				errs[i] = err
				return
			}
			met[i], errs[i] = Meet(t.Context(), c, task, netip.MustParseAddr("127.0.0.1"))
			_ = c.Close(context.Background())
		})
	}
	meeting.Wait()
	return met, errs
}

func twoTasks() []rollcall.Task {
	var tasks []rollcall.Task
	for rank := range 2 {
		tasks = append(tasks, rollcall.Task{Rank: rank, Size: 2, Host: fmt.Sprintf("node%d", 1+rank), PID: 100 + rank,
			Version: "v1", Binary: strings.Repeat("0a", 32)})
	}
	return tasks
}

// Tasks that fit together share a secret, and the first task knows the agent's address.
func TestTasksMeet(t *testing.T) {
	met, errs := meet(t, 2, 10*time.Second, twoTasks()...)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if string(met[0].Secret) != string(met[1].Secret) || met[0].Tasks[1].Address != met[1].Listener.Addr().String() {
		t.Errorf("they have %+v and %+v", met[0], met[1])
	}
	if err := met[1].Listener.Close(); err != nil {
		t.Error(err)
	}
}

// If the tasks do not fit together, only the first task reports the reason.
func TestTasksThatDoNotFitDoNotMeet(t *testing.T) {
	for name, c := range map[string]struct {
		change func([]rollcall.Task)
		want   string
	}{
		"another binary": {func(tasks []rollcall.Task) { tasks[1].Binary = strings.Repeat("ff", 32) },
			"rank 1 on node2 has another psbench than rank 0 on node1"},
		"one host": {func(tasks []rollcall.Task) { tasks[1].Host, tasks[1].Local = "node1", 1 },
			"ranks 0 and 1 both run on node1"},
	} {
		t.Run(name, func(t *testing.T) {
			tasks := twoTasks()
			c.change(tasks)
			met, errs := meet(t, 2, 10*time.Second, tasks...)
			if errs[0] == nil || !strings.HasPrefix(errs[0].Error(), c.want) || !errors.Is(errs[1], ErrFailed) ||
				met[0] != nil || met[1] != nil {
				t.Errorf("%s: they say %v", name, errs)
			}
		})
	}
}

// A task whose peers never connect reports a timeout.
func TestTaskMeetsNobody(t *testing.T) {
	for i, task := range twoTasks() {
		met, errs := meet(t, 2, 100*time.Millisecond, task)
		want := fmt.Sprintf("not all of 2 tasks have answered in time: rank %d on %s has", i, task.Host)
		if met[0] != nil || !errors.Is(errs[0], os.ErrDeadlineExceeded) || !strings.HasPrefix(errs[0].Error(), want) {
			t.Errorf("rank %d says %v", i, errs[0])
		}
	}
}
