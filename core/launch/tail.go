package launch

import (
	"bytes"
	"strings"
	"sync"
)

// tailLines and tailBytes bound what is kept of a process's output.
const (
	tailLines = 5
	tailBytes = 2000
)

// tail keeps the last lines that were written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
	// panicked is the first line of a panic, which its stack would push out.
	panicked string
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if line, whole := t.panicLine(); whole && t.panicked == "" {
		t.panicked = line
	}
	if over := len(t.text) - tailBytes; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(b), nil
}

// panicLine is the line that begins a panic, if there is one, and whether it has ended:
// the runtime writes it in pieces.
func (t *tail) panicLine() (line string, whole bool) {
	for _, start := range []string{"panic: ", "fatal error: "} {
		if at := bytes.Index(t.text, []byte(start)); at >= 0 {
			line, _, whole = strings.Cut(string(t.text[at:]), "\n")
			return line, whole
		}
	}
	return "", false
}

// String is the last lines on one line; of a Go panic only what it says, not
// the stack.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.panicked != "" {
		return t.panicked
	}
	if line, _ := t.panicLine(); line != "" {
		return line
	}
	lines := bytes.Split(bytes.TrimSpace(t.text), []byte("\n"))
	lines = lines[max(0, len(lines)-tailLines):]
	return strings.TrimSpace(string(bytes.Join(lines, []byte(" | "))))
}
