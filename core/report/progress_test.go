package report

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"
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

// Lines of processes go above the line that a terminal keeps up to date, and do nothing
// else to it.
func TestLinesOfProcesses(t *testing.T) {
	for want, terminal := range map[string]bool{
		"warm-up\ndata: loaded \\x1b[2J    x\nmeasured pass\n":                                false,
		"<clear>warm-up<clear>data: loaded \\x1b[2J    x\nwarm-up<clear>measured pass<clear>": true,
	} {
		var out bytes.Buffer
		p := NewProgress(&out, terminal, false)
		p.Phase("warm-up")
		p.Line("data", "loaded \x1b[2J\tx\r")
		p.Phase("measured pass")
		p.Done()
		if got := strings.ReplaceAll(out.String(), clearLine, "<clear>"); got != want {
			t.Errorf("on a terminal (%v) it wrote %q, want %q", terminal, got, want)
		}
	}
	var out bytes.Buffer
	p := NewProgress(&out, true, true)
	p.Phase("warm-up")
	p.Line("data", "loaded")
	p.Done()
	if got := out.String(); got != clearLine+"data: loaded\n" {
		t.Errorf("quiet progress wrote %q", got)
	}
}

// A reader that has stopped holds nobody up, and is told what it missed.
func TestAStoppedReader(t *testing.T) {
	const lines = 100_000
	r, w := io.Pipe()
	p := NewProgress(w, false, false)
	for i := range lines {
		p.Line("data", strconv.Itoa(i))
		p.Phase("phase")
	}
	read := make(chan int)
	go func() {
		lines := 0
		for s := bufio.NewScanner(r); s.Scan(); lines++ {
			dropped := 0
			if n, _ := fmt.Sscanf(s.Text(), "psbench: %d lines dropped, since nobody read them", &dropped); n == 1 {
				lines += dropped - 1
			}
		}
		read <- lines
	}()
	p.out.wait(time.Minute)
	_ = w.Close()
	if got := <-read; got != 2*lines {
		t.Errorf("of %d lines %d were shown or counted", 2*lines, got)
	}
}
