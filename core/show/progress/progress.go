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

// Progress shows the user the state of a run and the output of its processes. From the first Phase until Done, a
// timer also refreshes the elapsed time. All methods are safe for concurrent use. No method waits for a reader, so a
// stopped terminal stops no run. Write errors are ignored, so a broken output fails no run.
type Progress struct {
	mu       sync.Mutex
	out      unblocked
	terminal *Terminal // nil for plain lines
	quiet    bool
	now      func() time.Time
	every    time.Duration // interval of the refresh timer
	end      func()        // stops the refresh timer and waits for it; nil if it is not running
	phase    string        // "" if there is none
	began    time.Time     // start of the phase
	pass     *pace         // the running pass; nil without one
	row      [2]int        // row number and number of rows; 0 if the phase is no row
	told     time.Time     // time of the phase's last plain line
	drawn    time.Time     // time of the last drawn line
	status   string        // the drawn line without a line break, preceded by the board
	board    *Board        // nil without one
	given    int           // number of parts that fit has dropped in this phase
	columns  int           // terminal width at the last drawing
}

// Terminal describes the terminal to which a Progress writes.
type Terminal struct {
	// Width and Height return the current number of columns and lines; 0 if unknown.
	Width, Height func() int
	// Styled allows bold and dim text.
	Styled bool
}

// New makes a Progress that writes to w, usually stderr. On a terminal it updates one line. Without a terminal it
// writes plain lines. If quiet is true, it shows only the output of processes.
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

// look starts a timer that refreshes the elapsed time. The returned function stops the timer and waits for the last
// refresh.
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

// tick refreshes the line, even without new progress.
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

// Pass starts a pass in this phase. The length of the pass is either a number of iterations of the reporting trainer
// or a duration. The parameter batches is the number of batches per epoch; samples is the number that all trainers
// process per iteration. An unknown value is 0.
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

// These are the minimum intervals between updates of the line on a terminal and between plain lines.
const (
	drawEvery  = 200 * time.Millisecond
	plainEvery = 10 * time.Second
)

// Iterations reports the number of finished iterations of the current pass, and the last loss.
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

// tell shows the progress of the phase, unless it did so very recently.
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

// line returns the progress line of the phase. If the end is unknown, the line has the elapsed time.
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

// plainEpochs is the number of epochs between two plain lines, as in the original benchmark.
const plainEpochs = 5

// EpochsEvery returns n if the caller should report the first of every n epochs through Epoch. If the output shows no
// epochs, EpochsEvery returns 0; only plain lines show epochs.
func (p *Progress) EpochsEvery() int {
	if p.quiet || p.terminal != nil {
		return 0
	}
	return plainEpochs
}

// Epoch reports that a trainer begins an epoch, counted from 1, of epochs in total; 0 means an unknown total. Epoch
// prints at most process.MostEpochs lines per trainer and pass.
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

// Row marks the phase as a row of a table, counted from 1, of rows in total. The line then has no remaining time,
// because rows differ in length.
func (p *Progress) Row(row, rows int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.row = [2]int{row, rows}
	if p.terminal != nil && !p.quiet {
		p.draw(p.now())
	}
}

// Line shows a line of a process's output above the progress line.
func (p *Progress) Line(process, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.above(process + ": " + quote.Lines(strings.TrimSuffix(text, "\r")))
}

// Note shows a line from psbench itself above the progress line.
func (p *Progress) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.quiet {
		p.above(quote.Lines(text))
	}
}

// above prints whole lines above the progress line.
func (p *Progress) above(text string) {
	if p.terminal != nil {
		text = p.clear() + text
	}
	p.out.print(text + "\n" + p.status)
}

// whole returns a whole line that replaces the progress line on a terminal.
func (p *Progress) whole(text string) string {
	if p.terminal != nil {
		text = clearLine + text
	}
	return text + "\n"
}

// Done clears the line on the terminal and waits until pending output is written, so other output can follow. Another
// Phase may begin afterwards.
func (p *Progress) Done() {
	p.mu.Lock()
	end := p.end
	p.phase, p.pass, p.end = "", nil, nil
	p.mu.Unlock()
	if end != nil {
		end() // without the lock, because a tick may be waiting for it
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

// flushTimeout is the longest time that Done waits for a stalled reader.
const flushTimeout = time.Second

// defaultWidth is the assumed width of a terminal that does not report its width.
const defaultWidth = 80

// draw redraws the line on the terminal. Once a board is drawn, only the timer redraws, once a second.
func (p *Progress) draw(now time.Time) {
	if p.board == nil || p.status == "" {
		p.redraw(now)
	}
}

// redraw redraws the line on the terminal, and the board above it. It leaves the last column free, because psbench
// could not clear a wrapped line.
func (p *Progress) redraw(now time.Time) {
	width := p.terminal.Width()
	if width == 0 {
		width = defaultWidth
	}
	if width != p.columns {
		if strings.Contains(p.status, "\n") { // after a resize the old lines may have moved
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
