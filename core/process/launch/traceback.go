package launch

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// traceback parses Python's output line by line. If nothing was printed after an exception, traceback keeps the
// exception's message and its frames in the plugin.
type traceback struct {
	what   string // empty if there was no exception
	frames []string

	inside bool // the next lines are frames
}

const (
	tracebackStart = "Traceback (most recent call last):"
	// installed matches paths of files that do not belong to the plugin.
	installed = `/lib/python3|/dist-packages/|/site-packages/|/python-[0-9a-f]{16}/psbench/|^<frozen `
)

var (
	frameLine = regexp.MustCompile(`^  File "([^"]*)", line ([0-9]+), in (.+)$`)
	elsewhere = regexp.MustCompile(installed)
)

// add parses the next line.
func (t *traceback) add(line string) {
	switch frame := frameLine.FindStringSubmatch(line); {
	case line == tracebackStart:
		*t = traceback{inside: true}
	case t.inside && frame != nil:
		if !elsewhere.MatchString(frame[1]) {
			t.frames = append(t.frames, fmt.Sprintf("%s (%s:%s)", frame[3], path.Base(frame[1]), frame[2]))
		}
	case t.inside && !strings.HasPrefix(line, " "):
		t.inside, t.what = false, line
	case t.inside || line == "":
	default:
		*t = traceback{}
	}
}

// where returns the frames of the plugin, innermost first, or "".
func (t *traceback) where() string {
	var out []string
	for i := len(t.frames) - 1; i >= 0 && len(out) < mostFrames; i-- {
		out = append(out, t.frames[i])
	}
	return strings.Join(out, ", ")
}

// String returns the exception and where it was raised, on one line.
func (t *traceback) String() string {
	if where := t.where(); where != "" {
		return t.what + ", in " + where
	}
	return t.what
}
