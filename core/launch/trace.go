package launch

import (
	"path"
	"strings"
)

// trace reads, line by line, what the Go runtime prints when it ends a process: why, and
// where. Of the stacks it keeps the first frames of the first one.
type trace struct {
	why string // empty: nothing of the sort was printed

	stack         stackState
	function      string   // whose place the next line says
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
var endings = []string{"panic: ", "fatal error: ", "runtime: failed to create new OS thread", "runtime/cgo: ", "SIGSEGV: ", "SIGABRT: ", "SIGBUS: ", "SIGILL: ", "SIGFPE: "}

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
	place, isPlace := strings.CutPrefix(line, "\t")
	switch {
	case line == "" || strings.HasPrefix(line, "created by "):
		t.stack = read
	case !isPlace:
		t.function = line
		if at := strings.LastIndexByte(line, '('); at > 0 {
			t.function = line[:at]
		}
	default:
		place, _, _ = strings.Cut(place, " +0x")
		frame := path.Base(t.function) + " (" + path.Base(place) + ")"
		switch ownerOf(t.function, path.Dir(place)) {
		case ownerPart:
			t.part = append(t.part, frame)
		case ownerPsbench:
			t.psbench = append(t.psbench, frame)
			if len(t.part) > 0 { // here the plugin was called
				t.stack = read
			}
		}
	}
}

type owner int

const (
	ownerGo owner = iota
	ownerPsbench
	ownerPart
)

// ownerOf says whose code a function in a file of the folder dir is. Go's own packages
// lie in a folder src of their names, or, with -trimpath, in one of the name alone.
func ownerOf(function, dir string) owner {
	base := path.Base(function)
	name, _, inPackage := strings.Cut(base, ".")
	pkg := path.Join(path.Dir(function), name)
	first, _, _ := strings.Cut(pkg, "/")
	trimmed := dir == pkg && !strings.Contains(first, ".")
	psbench, ours := strings.CutPrefix(pkg, "github.com/psbench/psbench/")
	switch {
	case pkg == "main":
		return ownerPart
	case !inPackage || trimmed || strings.HasSuffix(dir, "/src/"+pkg):
		return ownerGo
	case ours && !strings.HasPrefix(psbench, "plugins/"),
		strings.HasPrefix(pkg, "google.golang.org/"), strings.HasPrefix(pkg, "github.com/hashicorp/"):
		return ownerPsbench
	default:
		return ownerPart
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
