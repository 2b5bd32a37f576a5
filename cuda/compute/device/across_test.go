//go:build nvidia

package device

import (
	"errors"
	"sync"
	"testing"
	"time"
)

// Turns come in the order in which they were taken, whichever goroutine arrives first, until an error occurs.
func TestTurns(t *testing.T) {
	a := &across{}
	a.moved = sync.NewCond(&a.mu)
	first, second, third := a.enlist(), a.enlist(), a.enlist()
	begun := make(chan error)
	begin := func(turn uint64) {
		go func() { begun <- a.begin(turn) }()
	}
	waits := func(what string) {
		t.Helper()
		select {
		case err := <-begun:
			t.Fatalf("%s has begun, %v", what, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	comes := func() error {
		t.Helper()
		select {
		case err := <-begun:
			return err
		case <-time.After(time.Minute):
			t.Fatal("nobody has a turn")
			return nil
		}
	}
	begin(second)
	waits("the second")
	if err := a.begin(first); err != nil {
		t.Fatal(err)
	}
	waits("the second, beside the first,")
	a.end()
	if err := comes(); err != nil {
		t.Fatal(err)
	}
	begin(third)
	waits("the third")
	lost := errors.New("a peer is lost")
	if err := a.fail(lost); !errors.Is(err, lost) {
		t.Error(err)
	}
	if err := comes(); !errors.Is(err, lost) {
		t.Errorf("the third begins with %v", err)
	}
	if err := a.fail(errors.New("another")); !errors.Is(err, lost) || !errors.Is(a.failure(), lost) {
		t.Errorf("what failed first is %v", err)
	}
}
