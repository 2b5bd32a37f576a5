//go:build !race

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

var controls = regexp.MustCompile(`\x1b\[[0-9]*[A-Za-z]|\r`)

// A terminal shows a board unless it is too narrow or cannot redraw lines. At the end, or after an interrupt, nothing
// drawn remains. After a stop, psbench does not draw over the output of other programs.
func TestLiveTerminal(t *testing.T) {
	t.Parallel()
	const up, hide = "A\x1b[J", "\x1b[?"
	sweep :=
		"sweep --live --ntrainer 2 --nserver 1 --warmup none --repeats 1 --seconds 2.5 --axis server=average,average_batch --no-again --out "
	for _, c := range []struct {
		environment string
		columns     int
		board, dim  bool
	}{
		{"TERM=xterm NO_COLOR=", 80, true, true},
		{"TERM=xterm NO_COLOR=1", 60, true, false},
		{"TERM=xterm NO_COLOR=1", 59, false, false},
		{"TERM=dumb", 80, false, false},
	} {
		t.Run(c.environment, func(t *testing.T) {
			control, terminal := openTerminal(t, c.columns)
			cmd := &exec.Cmd{
				Path: "/proc/self/exe", Stdout: io.Discard, Stderr: terminal,
				Env:  append(append(os.Environ(), smallest), strings.Fields(c.environment)...),
				Args: append([]string{"psbench"}, strings.Fields(sweep+filepath.Join(t.TempDir(), "study"))...),
			}
			out := shown(t, cmd, control, terminal)
			_ = control.Close()
			for _, part := range []string{"medians ", "1 of 2 cells", "throughput", "measured pass, ", up} {
				if strings.Contains(out, part) != c.board {
					t.Errorf("%+v: of %q: %t: %q", c, part, !c.board, out)
				}
			}
			if strings.Contains(out, "\x1b[2m") != c.dim || strings.Contains(out, hide) {
				t.Errorf("%+v: %q", c, out)
			}
			if c.board && !strings.HasSuffix(out, up) {
				t.Errorf("%+v: it ends with %q", c, out[max(0, len(out)-100):])
			}
			for line := range strings.SplitSeq(out, "\n") {
				line = line[strings.LastIndex(line, "\r\x1b")+1:]
				if n := len([]rune(controls.ReplaceAllString(line, ""))); c.board && n > c.columns &&
					!strings.Contains(line, "live page") {
					t.Errorf("%+v: %d columns: %q", c, n, line)
				}
			}
		})
	}
}

// After a stop, a continuation and an interrupt, psbench leaves the terminal clean.
func TestLiveTerminalSignals(t *testing.T) {
	t.Parallel()
	control, terminal := openTerminal(t, 80)
	defer func() { _ = control.Close() }()
	args := "sweep --live --ntrainer 1 --nserver 1 --seconds 100 --repeats 1 --axis server=average --no-again --out " +
		filepath.Join(t.TempDir(), "study")
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{"psbench"}, strings.Fields(args)...),
		Stderr: terminal, Env: append(os.Environ(), smallest, "TERM=xterm", "NO_COLOR=1")}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = terminal.Close()
	pieces := make(chan string, 1000)
	go func() {
		defer close(pieces)
		for {
			buffer := make([]byte, 64<<10)
			n, err := control.Read(buffer)
			if err != nil {
				return
			}
			pieces <- string(buffer[:n])
		}
	}()
	until := func(what string) string {
		t.Helper()
		var out strings.Builder
		late := time.After(time.Minute)
		for !strings.Contains(out.String(), what) {
			select {
			case piece, ok := <-pieces:
				if !ok {
					t.Fatalf("it ended without %q: %q", what, out.String())
				}
				out.WriteString(piece)
			case <-late:
				t.Fatalf("no %q: %q", what, out.String())
			}
		}
		return out.String()
	}
	until("throughput")
	for len(pieces) > 0 {
		<-pieces
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for quiet := false; !quiet; { // read pending output
		select {
		case <-pieces:
		case <-time.After(200 * time.Millisecond):
			quiet = true
		}
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(until("throughput"), "throughput")
	if strings.Contains(first, "A\x1b[J") {
		t.Errorf("it draws over what came meanwhile: %q", first)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	last := until("psbench: ")
	if before, _, _ := strings.Cut(last, "psbench: "); !strings.HasSuffix(before, "A\x1b[J") &&
		!strings.HasSuffix(before, "\x1b[K") {
		t.Errorf("it leaves %q", before)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != exitSignal {
		t.Errorf("it ended with %v", err)
	}
	for range pieces { // until all processes have closed the terminal
	}
}
