package rollcall

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/psbench/psbench/core/process/launchers/pmi"
	"github.com/psbench/psbench/core/process/launchers/pmi/pmitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// four returns four tasks on two hosts.
func four() []Task {
	var tasks []Task
	for rank := range 4 {
		tasks = append(tasks, Task{Rank: rank, Size: 4, Local: rank % 2, Host: fmt.Sprintf("node%d", 1+rank/2),
			PID: 100 + rank, Version: "v1, commit abc", Binary: strings.Repeat("0a", 32)})
	}
	return tasks
}

// call runs Call for the tasks of a job with size tasks. call returns the tasks that rank 0 got, and all errors.
func call(t *testing.T, size int, timeout time.Duration, tasks ...Task) (seen []Task, errs []error) {
	t.Helper()
	s := &pmitest.Server{Size: size}
	errs = make([]error, len(tasks))
	var calling sync.WaitGroup
	for i, task := range tasks {
		conn := s.Dial(t, i)
		calling.Go(func() {
			c, err := pmi.Open(t.Context(), conn, timeout)
			if err != nil {
				errs[i] = err
				return
			}
			all, err := Call(t.Context(), c, task)
			if errs[i] = err; all != nil {
				seen = all
			}
			_ = c.Close(t.Context())
		})
	}
	calling.Wait()
	return seen, errs
}

func TestRankZeroSeesAll(t *testing.T) {
	seen, errs := call(t, 4, 10*time.Second, four()...)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(four(), seen); diff != "" {
		t.Error(diff)
	}
}

// If a task does not fit, exactly one task returns an error that names the host.
func TestDisagreements(t *testing.T) {
	for name, c := range map[string]struct {
		change func([]Task)
		want   string
		finds  int
	}{
		"another binary": {func(t []Task) {
			t[3].Binary = strings.Repeat("ff", 32)
		},
			"rank 3 on node2 has another psbench than rank 0 on node1: v1, commit abc with SHA-256 ffffffffffff and v1, commit abc with SHA-256 0a0a0a0a0a0a; give all hosts the same file", 0},
		"another version": {func(t []Task) { t[2].Version = "v2" },
			"rank 2 on node2 has another psbench than rank 0 on node1: v2 with", 0},
		"no binary": {func(t []Task) { t[2].Binary, t[2].Failure = "", "permission denied" },
			"rank 2 on node2 cannot read its psbench, so psbench cannot compare it with that of rank 0 on node1: permission denied", 0},
		"another size": {func(t []Task) { t[1].Size = 2 },
			"rank 1 on node1 counts 2 tasks, but rank 0 on node1 counts 4", 0},
		"a larger size": {func(t []Task) { t[0].Size = 6 },
			"rank 0 on node1 counts 6 tasks, but nothing has come from rank 4, 5", 0},
		"one seat": {func(t []Task) { t[1].Local = 0 },
			"rank 0 on node1 and rank 1 on node1 both are local rank 0 there", 0},
	} {
		t.Run(name, func(t *testing.T) {
			tasks := four()
			c.change(tasks)
			_, errs := call(t, 4, 10*time.Second, tasks...)
			for i, err := range errs {
				if i == c.finds && (err == nil || !strings.HasPrefix(err.Error(), c.want)) ||
					i != c.finds && err != nil {
					t.Errorf("%s: rank %d says %v, but rank %d is to say %s", name, i, err, c.finds, c.want)
				}
			}
		})
	}
}

// If two tasks have the same rank, the task whose entry was overwritten reports it. Rank 0 reports the missing rank.
func TestDuplicateRanks(t *testing.T) {
	tasks := four()
	tasks[2].Rank = 3
	_, errs := call(t, 4, 10*time.Second, tasks...)
	if errs[0] == nil || errs[0].Error() != "rank 0 on node1 counts 4 tasks, but nothing has come from rank 2" {
		t.Errorf("rank 0 says %v", errs[0])
	}
	said := errors.Join(errs[2], errs[3])
	if said == nil || !strings.HasPrefix(said.Error(), "two tasks are rank 3: process 10") || errs[1] != nil ||
		errs[2] != nil && errs[3] != nil {
		t.Errorf("the others say %v", errs[1:])
	}
}

// After a timeout, a task reports that it has reached the barrier itself.
func TestMissingTask(t *testing.T) {
	_, errs := call(t, 4, 200*time.Millisecond, four()[:3]...)
	for i, err := range errs {
		want :=
			fmt.Sprintf("not all of 4 tasks have answered in time: %s has, and each task that has prints this error; a task that prints nothing is missing (PMI barrier_in: no answer within 200ms",
				four()[i].name())
		if !errors.Is(err, os.ErrDeadlineExceeded) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("rank %d says %v", i, err)
		}
	}
}

// Every wait for other tasks reports a timeout in this way.
func TestMissingTaskIsToldOfEachBarrier(t *testing.T) {
	me := four()[0]
	for name, wait := range map[string]func(*pmi.Client) error{
		"the secret":  func(c *pmi.Client) error { _, err := Secret(t.Context(), c, me); return err },
		"the verdict": func(c *pmi.Client) error { _, err := Verdict(t.Context(), c, me, false); return err },
	} {
		t.Run(name, func(t *testing.T) {
			c, err := pmi.Open(t.Context(), (&pmitest.Server{Size: 4}).Dial(t, 0), 100*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			if err := wait(c); err == nil || !strings.HasPrefix(err.Error(),
				"not all of 4 tasks have answered in time: rank 0 on node1 has, and each task that has prints this error; a task that prints nothing is missing (PMI barrier_in: ") {
				t.Errorf("%s: it says %v", name, err)
			}
			_ = c.Close(t.Context())
		})
	}
}

// Decode returns the task that Encode encoded, or an error.
func FuzzDecode(f *testing.F) {
	text, err := Encode(four()[3])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text string) {
		task, err := Decode(text)
		if err != nil {
			return
		}
		again, err := Encode(task)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := Decode(again); err != nil || back != task {
			t.Errorf("%q is %v, and then %v, %v", text, task, back, err)
		}
	})
}
