package launch

import (
	"bytes"
	"strings"
)

// tailLines and tailBytes bound what is kept of a process's output.
const (
	tailLines = 5
	tailBytes = 2000
)

// tail keeps the last lines that were written to it.
type tail struct{ text []byte }

func (t *tail) add(b []byte) {
	t.text = append(t.text, b...)
	if over := len(t.text) - tailBytes; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
}

// String is the last lines on one line.
func (t *tail) String() string {
	lines := bytes.Split(bytes.TrimSpace(t.text), []byte("\n"))
	lines = lines[max(0, len(lines)-tailLines):]
	return strings.TrimSpace(string(bytes.Join(lines, []byte(" | "))))
}
