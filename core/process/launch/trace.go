package launch

import (
	"strings"

	"github.com/psbench/psbench/internal/stack"
)

// trace reads, line by line, what the Go runtime prints when it ends a process: why, and
// where. Of the stacks it keeps the first frames of the first one.
type trace struct {
	why string // empty: nothing of the sort was printed

	stack         stackState
	call          string   // whose place the next line says
	part, psbench []string // frames of the plugin, and of what psbench adds to it
}

type stackState int

const (
	awaited stackState = iota // no goroutine has come yet
	reading
	read
)

// mostFrames bounds the frames of a message.
const mostFrames = 3

// endings begin the line that says why a process ends. A thread or memory that cannot be
// had is told by the runtime before it says that this is fatal.
var endings = []string{"panic: ", "fatal error: ", "runtime: failed to create new OS thread", "runtime/cgo: ",
	"SIGSEGV: ", "SIGABRT: ", "SIGBUS: ", "SIGILL: ", "SIGFPE: "}

// isEnding says whether a line, or the first part of one, says why a process ends.
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

// frame takes a line of a stack: a call, or, after a tab, the place of the last one.
func (t *trace) frame(line string) {
	switch {
	case line == "" || strings.HasPrefix(line, "created by "):
		t.stack = read
	case !strings.HasPrefix(line, "\t"):
		t.call = line
	default:
		frame := stack.FrameOf(t.call, line)
		owner := frame.Owner()
		if owner == stack.Library { // is called by the plugin, unless psbench is further in
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
			if len(t.part) > 0 { // here the plugin was called
				t.stack = read
			}
		}
	}
}

// String is why and where on one line.
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
