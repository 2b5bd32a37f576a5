package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// heard collects the lines that an Output passes on.
type heard struct {
	mu    sync.Mutex
	lines []string
}

func (h *heard) line(process, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, process+": "+text)
}

func (h *heard) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.lines)
}

// Output is passed on line by line, and logged. The stack traces of a panic go only to the log.
func TestOutput(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "logs", "run")
	for name, c := range map[string]struct{ settings, told, logged string }{
		"lines": {`{"say": "one\ntwo\n\nthree", "exit": 1}`, "one|two||three", "one\ntwo\n\nthree\n"},
		"panic": {`{"say": "before\n", "panic": "boom"}`, "before", "before\npanic: boom"},
		"a very long one": {`{"say": "` + strings.Repeat("x", longestPiece+1) + `", "exit": 1}`,
			strings.Repeat("x", longestPiece+1), strings.Repeat("x", 100)},
	} {
		t.Run(name, func(t *testing.T) {
			var h heard
			l, err := New(patience, Output{Line: h.line, Folder: folder})
			if err != nil {
				t.Fatal(err)
			}
			p := started(t, l, "trainer0")
			_ = act(l, p, c.settings) // fails, because the process dies
			awaitExit(t, p)
			if err := l.Close(false); err != nil {
				t.Fatal(err)
			}
			var told []string
			for _, line := range h.all() {
				text, ok := strings.CutPrefix(line, "trainer0: ")
				if !ok {
					t.Errorf("%q does not begin with the process", line)
				}
				told = append(told, text)
			}
			separator := "|"
			if len(c.told) > longestPiece { // a long line is passed on in pieces of any length
				separator = ""
			}
			if got := strings.Join(told, separator); got != c.told {
				t.Errorf("it told %q, want %q", got, c.told)
			}
			logged, err := os.ReadFile(filepath.Join(folder, "trainer0.log"))
			if err != nil || !strings.HasPrefix(string(logged), c.logged) {
				t.Errorf("the log has %q, want %q (%v)", logged, c.logged, err)
			}
			if name == "panic" && !strings.Contains(string(logged), "goroutine ") {
				t.Errorf("the log %q has no stack", logged)
			}
		})
	}
}

func TestLogsThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(patience, Output{Folder: file}); err == nil ||
		!strings.Contains(err.Error(), "the folder for logs cannot be made: mkdir "+file) {
		t.Errorf("a file as folder of logs gave %v", err)
	}
	full := t.TempDir()
	if err := os.Symlink("/dev/full", filepath.Join(full, "trainer0.log")); err != nil {
		t.Fatal(err)
	}
	var h heard
	l, err := New(patience, Output{Folder: full, Line: h.line})
	if err != nil {
		t.Fatal(err)
	}
	p := started(t, l, "trainer0")
	_ = act(l, p, `{"say": "one\ntwo\n", "exit": 1}`) // fails, because the process dies
	awaitExit(t, p)
	if err := l.Close(false); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(h.all(),
		"|"); !strings.HasPrefix(got, "trainer0: one|psbench: the log of trainer0 ends here: write ") ||
		!strings.HasSuffix(got, "|trainer0: two") {
		t.Errorf("a full device gave %q", got)
	}
}

// A process that prints endlessly cannot fill the disk with its log.
func TestLogsEnd(t *testing.T) {
	folder := t.TempDir()
	var h heard
	w, err := newWords("data", Output{Folder: folder, Line: h.line})
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	w.room = 8
	if _, err := w.stream().Write([]byte("one\ntwo\nthree\nfour\n")); err != nil {
		t.Fatal(err)
	}
	const last = "the log of data ends here: it has 64 MiB"
	if text, err := os.ReadFile(filepath.Join(folder, "data.log")); err != nil ||
		string(text) != "one\ntwo\npsbench: "+last+"\n" {
		t.Errorf("the log has %q (%v)", text, err)
	}
	if got, want := strings.Join(h.all(), "|"), "data: one|data: two|data: three|psbench: "+last+
		"|data: four"; got != want {
		t.Errorf("it told %q, want %q", got, want)
	}
}
