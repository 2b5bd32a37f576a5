package stack

import (
	"context"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
)

// Mark names the code that a goroutine works for. A goroutine inherits the mark from the goroutine that starts it,
// even through libraries. Marks are implemented as profiler labels.
type Mark string

// The marks. Some goroutines are unmarked: those that package runtime starts, for example for timers, and those
// whose labels a profiler replaced.
const (
	Unmarked   Mark = ""
	ForPsbench Mark = "psbench"
	ForPart    Mark = "part"
)

const markLabel = "for"

// Set marks the calling goroutine. This replaces all other labels of the goroutine.
func (m Mark) Set() {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(markLabel, string(m))))
}

// Run calls f on a marked goroutine and waits for its end.
func (m Mark) Run(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Set()
		f()
	}()
	<-done
}

// markIn reads the mark from the header of a goroutine's stack: [select labels:{"for": "part"}].
func markIn(header string) Mark {
	for _, m := range []Mark{ForPsbench, ForPart} {
		if strings.Contains(header, `"`+markLabel+`": "`+string(m)+`"`) {
			return m
		}
	}
	return Unmarked
}

// longest limits the text of all stacks in bytes. Text beyond this limit is missing.
const longest = 64 << 20

// All returns all goroutines of this process with their marks. Only one call may run at a time, because it
// temporarily changes GODEBUG, which makes the runtime add labels to stacks.
func All() []Goroutine {
	const variable = "GODEBUG"
	before, set := os.LookupEnv(variable)
	_ = os.Setenv(variable, before+",tracebacklabels=1") // the value contains no NUL, so Setenv accepts it
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
