package report

import (
	"fmt"
	"io"
	"sync"
)

// Progress tells the user what a run is doing. Its methods are safe for
// concurrent use; it ignores errors of its writer, which no run should fail on.
type Progress struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	phase    string
	open     bool // a line on the terminal has no line end yet
}

// NewProgress makes a Progress that writes to w, usually stderr. On a terminal
// it keeps one line up to date, else it writes plain lines; if quiet, nothing.
func NewProgress(w io.Writer, terminal, quiet bool) *Progress {
	if quiet {
		w, terminal = io.Discard, false
	}
	return &Progress{w: w, terminal: terminal}
}

// Phase says what begins, e.g. "warm-up".
func (p *Progress) Phase(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase = name
	if p.terminal {
		p.update(name)
	} else {
		p.print(name)
	}
}

// plainEvery is how many epochs lie between two plain lines, as in the original.
const plainEvery = 5

// Epoch says that trainer begins epoch, counted from 1, of epochs. Only
// trainer0 is shown, and among plain lines every fifth epoch from the first.
func (p *Progress) Epoch(trainer string, epoch, epochs int) {
	if trainer != "trainer0" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("%s: epoch %d of %d", trainer, epoch, epochs)
	if p.terminal {
		if p.phase != "" {
			text = p.phase + ", " + text
		}
		p.update(text)
	} else if (epoch-1)%plainEvery == 0 {
		p.print(text)
	}
}

// Done clears the line on the terminal, so that other output can follow. A new
// Phase may begin after it.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase = ""
	if p.open {
		_, _ = fmt.Fprint(p.w, clearLine)
		p.open = false
	}
}

const clearLine = "\r\x1b[K"

// lineWidth fits the narrowest common terminal: a line that wraps could not be
// cleared.
const lineWidth = 79

func (p *Progress) update(text string) {
	if runes := []rune(text); len(runes) > lineWidth {
		text = string(runes[:lineWidth-1]) + "…"
	}
	_, _ = fmt.Fprint(p.w, clearLine+text)
	p.open = true
}

func (p *Progress) print(text string) { _, _ = fmt.Fprintln(p.w, text) }
