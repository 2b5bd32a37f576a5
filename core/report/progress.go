package report

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/psbench/psbench/internal/quote"
)

// Progress tells the user what a run is doing, and what its processes print. Its methods
// are safe for concurrent use and never wait for who reads: a user who stops the terminal
// stops no run. It ignores errors of its writer, which no run should fail on.
type Progress struct {
	mu       sync.Mutex
	out      unblocked
	terminal bool
	quiet    bool
	phase    string
	status   string // the line on the terminal that has no line end yet
}

// NewProgress makes a Progress that writes to w, usually stderr. On a terminal
// it keeps one line up to date, else it writes plain lines; if quiet, it shows only what
// processes print.
func NewProgress(w io.Writer, terminal, quiet bool) *Progress {
	p := &Progress{terminal: terminal, quiet: quiet}
	p.out = unblocked{w: w, note: func(lines int) string {
		return p.line(fmt.Sprintf("psbench: %d lines dropped, since nobody read them", lines))
	}}
	return p
}

// Phase says what begins, e.g. "warm-up".
func (p *Progress) Phase(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase = name
	switch {
	case p.quiet:
	case p.terminal:
		p.update(name)
	default:
		p.out.print(name + "\n")
	}
}

// plainEvery is how many epochs lie between two plain lines, as in the original.
const plainEvery = 5

// Epoch says that trainer begins epoch, counted from 1, of epochs. Only
// trainer0 is shown, and among plain lines every fifth epoch from the first.
func (p *Progress) Epoch(trainer string, epoch, epochs int) {
	if p.quiet || trainer != "trainer0" {
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
		p.out.print(text + "\n")
	}
}

// Line shows a line that a process printed, above the line that is kept up to date.
func (p *Progress) Line(process, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out.print(p.line(process+": "+quote.Lines(strings.TrimSuffix(text, "\r"))) + p.status)
}

// line is a whole line in the place of the one on the terminal.
func (p *Progress) line(text string) string {
	if p.terminal {
		text = clearLine + text
	}
	return text + "\n"
}

// Done clears the line on the terminal and lets what was said come out, so that other
// output can follow. A new Phase may begin after it.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase = ""
	if p.status != "" {
		p.out.print(clearLine)
		p.status = ""
	}
	p.out.wait(flushTimeout)
}

const clearLine = "\r\x1b[K"

// flushTimeout is how long Done waits for a reader that has stopped.
const flushTimeout = time.Second

// lineWidth fits the narrowest common terminal: a line that wraps could not be
// cleared.
const lineWidth = 79

func (p *Progress) update(text string) {
	if runes := []rune(text); len(runes) > lineWidth {
		text = string(runes[:lineWidth-1]) + "…"
	}
	p.out.print(clearLine + text)
	p.status = text
}
