package report

import (
	"bytes"
	"fmt"
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
	// The first epoch is told, and every fifth from there, however few there are.
	for epochs, want := range map[int]string{1: "1", 4: "1", 5: "1", 6: "1 6", 11: "1 6 11"} {
		var out, told bytes.Buffer
		p := NewProgress(&out, false, false)
		for epoch := 1; epoch <= epochs; epoch++ {
			p.Epoch("trainer0", epoch, epochs)
		}
		p.Done()
		for _, epoch := range strings.Fields(want) {
			fmt.Fprintf(&told, "trainer0: epoch %s of %d\n", epoch, epochs)
		}
		if out.String() != told.String() {
			t.Errorf("of %d epochs it told %q", epochs, out.String())
		}
	}
	if got := run(true, true) + run(false, true); got != "" {
		t.Errorf("quiet progress wrote %q", got)
	}
}
