package harness

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// Within is the error of f, which is left behind where it takes too long.
func Within(limit time.Duration, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- Recovered(f) }()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-late.C:
		return fmt.Errorf("it is not done after %g s", limit.Seconds())
	}
}

// Recovered is f, whose panics, writes to memory that it does not own among them, are errors.
func Recovered(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panics: %v, %s", describe(p), culprit(string(debug.Stack())))
		}
	}()
	return f()
}

// describe names a panic; a fault is one at memory that is guarded.
func describe(p any) string {
	var fault interface{ Addr() uintptr }
	if err, ok := p.(error); ok && errors.As(err, &fault) {
		return "it writes, or reads, where it must not"
	}
	return fmt.Sprint(p)
}

// culprit is the first frame of a panic's stack that is none of the runtime's.
func culprit(stack string) string {
	_, below, _ := strings.Cut(stack, "panic(")
	lines := strings.Split(below, "\n")
	for i := 1; i < len(lines); i++ {
		if at := strings.TrimSpace(lines[i]); strings.Contains(at, ".go:") && !strings.Contains(at, "/runtime/") {
			place, _, _ := strings.Cut(at, " +")
			return "at " + place
		}
	}
	return "at an unknown place"
}
