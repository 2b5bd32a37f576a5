package harness

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// Within returns the error of f. If f takes too long, Within returns an error and leaves f running.
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

// Recovered calls f and returns panics as errors, including faults from writes to foreign memory.
func Recovered(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panics: %v, %s", describe(p), culprit(string(debug.Stack())))
		}
	}()
	return f()
}

// describe names a panic. A fault is an access to guarded memory.
func describe(p any) string {
	var fault interface{ Addr() uintptr }
	if err, ok := p.(error); ok && errors.As(err, &fault) {
		return "it writes, or reads, where it must not"
	}
	return fmt.Sprint(p)
}

// culprit returns the first frame of a panic's stack outside the runtime.
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
