// Package progress shows the progress of a run: a line and a board on a terminal, plain lines elsewhere.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/quote"
)

// Progress shows the user the state of a run and the output of its processes. From the first
// Phase until Done it also refreshes the elapsed time by its own timer. Its methods are safe for
// concurrent use and never wait for the reader, so a stopped terminal stops no run. It ignores
// errors of its writer, so they fail no run.
type Progress struct {
	mu       sync.Mutex
	out      unblocked
	terminal *Terminal // nil for plain lines
	quiet    bool
	now      func() time.Time
	every    time.Duration // interval of look
	end      func()        // stops look and waits for it; nil if it does not run
	phase    string        // "" if there is none
	began    time.Time     // start of the phase
	pass     *pace         // of the running pass; nil without one
	row      [2]int        // number of the row and of all rows; 0 if the phase is no row
	told     time.Time     // time of the phase's last plain line
	drawn    time.Time     // time of the last drawn line
	status   string        // the drawn line, without a line end, and the board above it
	board    *Board        // nil without one
	given    int           // number of parts that the line has dropped in this phase
	columns  int           // terminal width at the last drawing
}

// Terminal describes the terminal that a Progress writes to.
type Terminal struct {
	// Width and Height return its current columns and lines; 0 if unknown.
	Width, Height func() int
	// Styled allows bold and dim text.
	Styled bool
}

// New makes a Progress that writes to w, usually stderr. On a terminal it updates one line; elsewhere it writes
// plain lines. If quiet, it shows only the output of processes.
func New(w io.Writer, terminal *Terminal, quiet bool) *Progress {
	p := &Progress{terminal: terminal, quiet: quiet, now: time.Now, every: time.Second}
	p.out = unblocked{w: w, note: func(lines int) string {
		return p.whole(fmt.Sprintf("psbench: %d lines dropped: the reader fell behind", lines))
	}}
	return p
}

// Phase starts a phase, e.g. "warm-up".
func (p *Progress) Phase(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.phase, p.began, p.pass, p.row, p.told, p.given = name, now, nil, [2]int{}, now, 0
	if p.quiet {
		return
	}
	if p.terminal == nil {
		p.out.print(name + "\n")
	} else {
		p.draw(now)
	}
	if p.end == nil {
		p.end = p.look()
	}
}

// look updates the elapsed time until the caller calls end, which waits for the last update.
func (p *Progress) look() (end func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(p.every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				p.tick()
			case <-quit:
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
	}
}

// tick updates the line, even without news.
func (p *Progress) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.phase == "":
	case p.board != nil && p.terminal != nil:
		p.redraw(p.now())
	default:
		p.tell(p.now())
	}
}

// Pass starts a pass in this phase. It has so many iterations of the reporting trainer, or this length, and so many
// batches to an epoch; an unknown value is 0. In each iteration all trainers together take so many samples.
func (p *Progress) Pass(iterations, batches int64, length time.Duration, samples float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.pass = &pace{began: now, total: iterations, batches: batches, length: length, samples: samples,
		recent: []mark{{now, 0}}}
	if p.terminal != nil && !p.quiet {
		p.draw(now)
	}
}

// How often the line on a terminal and plain lines are written at most, whoever tells how
// much.
const (
	drawEvery  = 200 * time.Millisecond
	plainEvery = 10 * time.Second
)

// Iterations reports how many iterations of the current pass are done, and the last loss.
func (p *Progress) Iterations(done int64, loss float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pass == nil {
		return
	}
	now := p.now()
	p.pass.note(mark{now, done}, loss)
	if !p.quiet {
		p.tell(now)
	}
}

// tell shows the progress of the phase, unless it did so a moment ago.
func (p *Progress) tell(now time.Time) {
	switch {
	case p.terminal != nil && now.Sub(p.drawn) >= drawEvery:
		p.draw(now)
	case p.terminal == nil && now.Sub(p.told) >= plainEvery:
		parts := p.line(now).parts()
		p.out.print(parts[0] + ": " + strings.Join(parts[1:], ", ") + "\n")
		p.told = now
	}
}

// line describes the phase. If its end is unknown, the line has the elapsed time.
func (p *Progress) line(now time.Time) live {
	l := live{phase: p.phase}
	switch {
	case p.pass != nil:
		l = p.pass.live(p.phase, now)
	case p.row[0] > 0:
		l.count, l.short = fmt.Sprintf("row %d of %d", p.row[0], p.row[1]), fmt.Sprintf("%d/%d", p.row[0], p.row[1])
	}
	if lasts := now.Sub(p.began); l.rate == "" && l.time == "" && lasts >= time.Second {
		l.time = remaining(lasts) + " so far"
	}
	return l
}

// plainEpochs is how many epochs lie between two plain lines, as in the original.
const plainEpochs = 5

// EpochsEvery returns n if Epoch is wanted for the first of every n epochs: only plain lines show epochs.
func (p *Progress) EpochsEvery() int {
	if p.quiet || p.terminal != nil {
		return 0
	}
	return plainEpochs
}

// Epoch says that trainer begins epoch, counted from 1, of epochs; 0: of any number. It shows
// as many as a trainer tells of a pass, and no more if one tells more.
func (p *Progress) Epoch(trainer string, epoch, epochs int) {
	if every := p.EpochsEvery(); every == 0 || (epoch-1)%every != 0 || (epoch-1)/every >= process.MostEpochs {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("%s: epoch %d", trainer, epoch)
	if epochs > 0 {
		text += fmt.Sprintf(" of %d", epochs)
	}
	p.out.print(text + "\n")
}

// Row marks the phase as a row of a table, counted from 1, of so many. It gives no time left, since rows take
// different times.
func (p *Progress) Row(row, rows int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.row = [2]int{row, rows}
	if p.terminal != nil && !p.quiet {
		p.draw(p.now())
	}
}

// Line shows a line of a process's output above the updated line.
func (p *Progress) Line(process, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.above(process + ": " + quote.Lines(strings.TrimSuffix(text, "\r")))
}

// Note shows a line of psbench's own above the updated line.
func (p *Progress) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.quiet {
		p.above(quote.Lines(text))
	}
}

// above prints whole lines above the updated line.
func (p *Progress) above(text string) {
	if p.terminal != nil {
		text = p.clear() + text
	}
	p.out.print(text + "\n" + p.status)
}

// whole is a whole line in the place of the one on the terminal.
func (p *Progress) whole(text string) string {
	if p.terminal != nil {
		text = clearLine + text
	}
	return text + "\n"
}

// Done clears the line on the terminal and lets what was said come out, so that other
// output can follow. A new Phase may begin after it.
func (p *Progress) Done() {
	p.mu.Lock()
	end := p.end
	p.phase, p.pass, p.end = "", nil, nil
	p.mu.Unlock()
	if end != nil {
		end() // without the lock, which a tick may wait for
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.status != "" {
		p.out.print(p.clear())
		p.status = ""
	}
	p.out.wait(flushTimeout)
}

const clearLine = "\r\x1b[K"

// flushTimeout is how long Done waits for a reader that has stopped.
const flushTimeout = time.Second

// defaultWidth is the assumed width of a terminal that reports none.
const defaultWidth = 80

// draw writes the line on the terminal anew. Beside a board that is done once a second.
func (p *Progress) draw(now time.Time) {
	if p.board == nil || p.status == "" {
		p.redraw(now)
	}
}

// redraw writes the line on the terminal anew, and the board above it. It leaves the last column
// free: a line that wraps could not be cleared.
func (p *Progress) redraw(now time.Time) {
	width := p.terminal.Width()
	if width == 0 {
		width = defaultWidth
	}
	if width != p.columns {
		if strings.Contains(p.status, "\n") { // who knows where its lines are now
			p.out.print("\n")
			p.status = ""
		}
		p.columns, p.given = width, 0
	}
	var status string
	status, p.given = p.line(now).fit(max(1, width-1), p.given, p.terminal.Styled)
	if p.board == nil {
		p.out.print(clearLine + status)
	} else {
		status = strings.Join(append(p.board.lines(p.terminal), status), "\n")
		if !p.out.offer(p.clear() + status) {
			return
		}
	}
	p.status, p.drawn = status, now
}
