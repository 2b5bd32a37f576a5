package launch

import (
	"strings"

	"github.com/psbench/psbench/internal/stack"
)

// trace parses the Go runtime's last output line by line: the reason for the end of a process, and stacks. trace keeps
// the reason and the first frames of the first stack.
type trace struct {
	why string // reason; empty if there was no such output

	stack         stackState
	call          string   // call whose place is on the next line
	part, psbench []string // frames of the plugin, and of psbench code that the plugin called
}

type stackState int

const (
	awaited stackState = iota // before the first goroutine
	reading
	read
)

// mostFrames limits how many frames a message contains.
const mostFrames = 3

// endings are the beginnings of lines that say why a process ends. If a thread or memory is not available, the runtime
// prints such a line before the fatal error.
var endings = []string{"panic: ", "fatal error: ", "runtime: failed to create new OS thread", "runtime/cgo: ",
	"SIGSEGV: ", "SIGABRT: ", "SIGBUS: ", "SIGILL: ", "SIGFPE: "}

// isEnding reports whether a line, or the first part of a line, says why a process ends.
func isEnding(line string) bool {
	for _, start := range endings {
		if strings.HasPrefix(line, start) {
			return true
		}
	}
	return false
}

// add parses the next line.
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

// frame parses a line of a stack. The line is a call or, after a tab, the place of the last call.
func (t *trace) frame(line string) {
	switch {
	case line == "" || strings.HasPrefix(line, "created by "):
		t.stack = read
	case !strings.HasPrefix(line, "\t"):
		t.call = line
	default:
		frame := stack.FrameOf(t.call, line)
		owner := frame.Owner()
		if owner == stack.Library { // the plugin called the library, unless psbench code is further in
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
			if len(t.part) > 0 { // the remaining frames are psbench code that called the plugin
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
