package stack

import (
	"context"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
)

// Mark says for whom a goroutine works. Goroutines inherit it from the one that starts them, whatever library is
// between, as labels of profiles do: it is one.
type Mark string

// The marks. Unmarked are goroutines that package runtime starts, as for timers, and those whose labels a profiler
// replaced.
const (
	Unmarked   Mark = ""
	ForPsbench Mark = "psbench"
	ForPart    Mark = "part"
)

const markLabel = "for"

// Set marks the calling goroutine, which may have no labels of its own.
func (m Mark) Set() {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(markLabel, string(m))))
}

// Run calls f on a goroutine with the mark and waits for it.
func (m Mark) Run(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Set()
		f()
	}()
	<-done
}

// markIn reads the mark in the header of a goroutine's stack: [select labels:{"for": "part"}].
func markIn(header string) Mark {
	for _, m := range []Mark{ForPsbench, ForPart} {
		if strings.Contains(header, `"`+markLabel+`": "`+string(m)+`"`) {
			return m
		}
	}
	return Unmarked
}

// longest bounds the text of all stacks, in bytes: what is beyond it is missing.
const longest = 64 << 20

// All are all goroutines of this process with their marks. One call at a time: for so long it changes GODEBUG, by which
// the runtime adds labels to stacks.
func All() []Goroutine {
	const variable = "GODEBUG"
	before, set := os.LookupEnv(variable)
	_ = os.Setenv(variable, before+",tracebacklabels=1") // which takes every name and value without NUL
	defer func() {
		if set {
			_ = os.Setenv(variable, before)
		} else {
			_ = os.Unsetenv(variable)
		}
	}()
	for size := 64<<10 + runtime.NumGoroutine()<<10; ; size *= 2 {
		text := make([]byte, min(size, longest))
		if n := runtime.Stack(text, true); n < len(text) || size >= longest {
			return Parse(string(text[:n]))
		}
	}
}
