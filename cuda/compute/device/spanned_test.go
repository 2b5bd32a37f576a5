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

// alone is the end of a group of NCCL that has one member, and its device. Without NCCL the test is skipped.
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

// requireWaiting requires that what tells its end by ended has not come to it.
func requireWaiting(t *testing.T, what string, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		t.Fatalf("%s does not wait, and gives %v", what, err)
	case <-time.After(50 * time.Millisecond):
	}
}

// Rows are taken on the lane that other groups give work too: not while one does.
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

// Who is told of a failure finds all communicators aborted, and may give up what they used.
func TestFailuresHaveAborted(t *testing.T) {
	_, e := alone(t, tensor.BucketSpec{Elements: 8})
	must(t, e.comm.Err())
	e.Abort()
	if err := e.comm.Err(); !errors.Is(err, library.ErrAborted) {
		t.Errorf("the communicator says %v", err)
	}
}

// Whoever looks after a group is gone before its communicator is, which it would take for aborted.
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

// stacks are those of all goroutines.
func stacks() string {
	text := make([]byte, 1<<20)
	return string(text[:runtime.Stack(text, true)])
}
