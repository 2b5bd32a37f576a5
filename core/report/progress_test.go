package report

import (
	"bytes"
	"strings"
	"testing"
)

func TestProgress(t *testing.T) {
	run := func(terminal, quiet bool) string {
		var out bytes.Buffer
		p := NewProgress(&out, terminal, quiet)
		p.Phase("starting 4 processes")
		p.Phase("warm-up")
		for epoch := 1; epoch <= 6; epoch++ {
			p.Epoch("trainer0", epoch, 6)
			p.Epoch("trainer1", epoch, 6)
		}
		p.Phase("a phase whose name is so long that it would wrap: " + strings.Repeat("x", 60))
		p.Done()
		p.Done()
		return out.String()
	}
	golden(t, "progress_plain.txt", run(false, false))
	// One update per line, with the control characters visible.
	visible := strings.NewReplacer("\r\x1b[K", "\n<clear>").Replace(run(true, false))
	golden(t, "progress_terminal.txt", visible+"\n")
	if got := run(true, true) + run(false, true); got != "" {
		t.Errorf("quiet progress wrote %q", got)
	}
}
