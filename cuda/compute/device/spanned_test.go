//go:build nvidia

package device

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/cuda/library"
	"github.com/psbench/psbench/sdk/engine"
)

// alone returns the end of an NCCL group with one member, and the device. alone skips the test if NCCL is missing.
func alone(t *testing.T, spec tensor.BucketSpec) (*Device, *spanned) {
	t.Helper()
	d, err := Open(0)
	must(t, err)
	t.Cleanup(func() { must(t, d.Close()) })
	s, err := d.Across()
	if err != nil {
		t.Skip(err)
	}
	joined, err := s.Join([]tensor.BucketSpec{spec}, nil)
	must(t, err)
	e := joined.(*spanned)
	must(t, e.Span([]string{"trainer0"}, 0, time.Minute))
	return d, e
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// requireWaiting requires that an operation is still waiting. The channel ended reports its end.
func requireWaiting(t *testing.T, what string, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		t.Fatalf("%s does not wait, and gives %v", what, err)
	case <-time.After(50 * time.Millisecond):
	}
}

// TakeRows needs a turn, because other groups use the same lane.
func TestTakeRowsHasATurn(t *testing.T) {
	spec := tensor.BucketSpec{Sparse: true, TableRows: 4, Width: 2, Elements: 8, Capacity: 4}
	d, e := alone(t, spec)
	rows, err := engine.Floats(d, spec.Room())
	must(t, err)
	taken := make(chan error, 1)
	e.across.turn.Lock()
	go func() { taken <- e.TakeRows(0, rows) }()
	requireWaiting(t, "TakeRows", taken)
	e.across.turn.Unlock()
	must(t, <-taken)
}

// When a caller gets a failure, all communicators are already aborted, so it may release the memory that they used.
func TestFailuresHaveAborted(t *testing.T) {
	_, e := alone(t, tensor.BucketSpec{Elements: 8})
	must(t, e.comm.Err())
	e.Abort()
	if err := e.comm.Err(); !errors.Is(err, library.ErrAborted) {
		t.Errorf("the communicator says %v", err)
	}
}

// The goroutine that watches a group ends before the group's communicator is destroyed; otherwise it would report
// an abort.
func TestCloseWaitsForTheWatch(t *testing.T) {
	_, e := alone(t, tensor.BucketSpec{Elements: 8})
	e.dueMu.Lock()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(stacks(),
		"(*spanned).overdue("); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nobody looks after the group")
		}
	}
	closed := make(chan error, 1)
	go func() { closed <- e.Close() }()
	requireWaiting(t, "Close", closed)
	e.dueMu.Unlock()
	must(t, <-closed)
	must(t, e.across.failure())
}

// stacks returns the stacks of all goroutines.
func stacks() string {
	text := make([]byte, 1<<20)
	return string(text[:runtime.Stack(text, true)])
}
