package launch

import (
	"strings"

	"github.com/psbench/psbench/internal/stack"
)

// trace parses, line by line, what the Go runtime prints when it ends a process: the reason and the stacks. It
// keeps the first frames of the first stack.
type trace struct {
	why string // empty: no such output

	stack         stackState
	call          string   // its place is on the next line
	part, psbench []string // frames of the plugin, and of psbench code below them
}

type stackState int

const (
	awaited stackState = iota // no goroutine yet
	reading
	read
)

// mostFrames limits the frames in a message.
const mostFrames = 3

// endings begin the line that says why a process ends. If a thread or memory is not available, the runtime prints
// that before it prints a fatal error.
var endings = []string{"panic: ", "fatal error: ", "runtime: failed to create new OS thread", "runtime/cgo: ",
	"SIGSEGV: ", "SIGABRT: ", "SIGBUS: ", "SIGILL: ", "SIGFPE: "}

// isEnding reports whether a line, or the beginning of one, says why a process ends.
func isEnding(line string) bool {
	for _, start := range endings {
		if strings.HasPrefix(line, start) {
			return true
		}
	}
	return false
}

// add takes the next line.
func (t *trace) add(line string) {
	switch {
	case t.why == "":
		if isEnding(line) {
			t.why = line
		}
	case t.stack == awaited:
		if said, ok := strings.CutPrefix(line, "[signal "); ok {
			said, _, _ = strings.Cut(said, " code=")
			t.why += " (" + said + ")"
		}
		if strings.HasPrefix(line, "goroutine ") {
			t.stack = reading
		}
	case t.stack == reading:
		t.frame(line)
	}
}

// frame parses a line of a stack: a call, or, after a tab, the place of the last call.
func (t *trace) frame(line string) {
	switch {
	case line == "" || strings.HasPrefix(line, "created by "):
		t.stack = read
	case !strings.HasPrefix(line, "\t"):
		t.call = line
	default:
		frame := stack.FrameOf(t.call, line)
		owner := frame.Owner()
		if owner == stack.Library { // the plugin called it, unless psbench code is further in
			owner = stack.Part
			if len(t.psbench) > 0 {
				owner = stack.Psbench
			}
		}
		switch owner {
		case stack.Part:
			t.part = append(t.part, frame.String())
		case stack.Psbench:
			t.psbench = append(t.psbench, frame.String())
			if len(t.part) > 0 { // from here on, psbench called the plugin
				t.stack = read
			}
		}
	}
}

// String returns the reason and the place on one line.
func (t *trace) String() string {
	frames := t.part
	if len(frames) == 0 {
		frames = t.psbench
	}
	if len(frames) == 0 {
		return t.why
	}
	return t.why + ", in " + strings.Join(frames[:min(len(frames), mostFrames)], ", ")
}
