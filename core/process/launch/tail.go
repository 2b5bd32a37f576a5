package launch

import "strings"

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

// lines are the last lines.
func (t *tail) lines() []string {
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	return lines[max(0, len(lines)-tailLines):]
}

// String is the last lines on one line.
func (t *tail) String() string { return strings.TrimSpace(strings.Join(t.lines(), " | ")) }
