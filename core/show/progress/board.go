package progress

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// Board is the content that a terminal shows above the progress line while runs go on.
type Board struct {
	// Cells and Runs are the numbers of cells and runs. If Runs is 0, the board has no line for them.
	Cells, CellsDone       int
	Runs, RunsDone, Failed int
	Left                   time.Duration // until the last run ends; 0 if unknown
	Medians                []Median      // best first
	Now                    monitor.Beat
	// Rates holds the last samples-per-second values, one per second.
	Rates []float64
}

// Median is the median of one cell.
type Median struct {
	Cell  string
	Value float64
	Unit  string
	Runs  int
}

func (m Median) text() string { return rounded(m.Value) + " " + m.Unit }

// narrowest is the smallest width of a board, in columns.
const narrowest = 60

// mostMedians is the maximum number of medians on a board. The rest of the board and its surroundings take roomFor
// lines.
const (
	mostMedians = 6
	roomFor     = 6
)

// Board shows a board above the line on the terminal, starting at the next tick. From then on, psbench draws the
// board and the line at most once a second.
func (p *Progress) Board(b Board) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.board = &b
}

// Resumed reports that another program has used the terminal, so the drawn lines are gone.
func (p *Progress) Resumed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = ""
}

// clear returns the control sequence that clears the drawn lines. The cursor is never hidden, so the terminal
// needs no restoring after a crash.
func (p *Progress) clear() string {
	if lines := strings.Count(p.status, "\n"); lines > 0 {
		return fmt.Sprintf("\r\x1b[%dA\x1b[J", lines)
	}
	return clearLine
}

// lines returns the lines of the board. No line wraps. On a screen that is too narrow, lines returns nil.
func (b *Board) lines(t *Terminal) (lines []string) {
	columns, height := t.Width(), 0
	if columns == 0 {
		columns = defaultWidth
	}
	if columns < narrowest {
		return nil
	}
	if t.Height != nil {
		height = t.Height()
	}
	add := func(label, text string) {
		label = fmt.Sprintf("%-10s  ", label)
		text = screen.Cut(text, columns-1-len(label))
		if t.Styled {
			label = "\x1b[2m" + label + "\x1b[0m"
		}
		lines = append(lines, label+text)
	}
	if b.Runs > 0 {
		add("sweep", b.counts())
	}
	for i, text := range b.medians(height, columns) {
		add(map[bool]string{true: "medians"}[i == 0], text)
	}
	if b.Runs > 0 && b.Now.Phase != "" {
		add("now", b.now())
	}
	if len(b.Rates) > 0 {
		text := "  " + rounded(b.Rates[len(b.Rates)-1]) + " samples/s"
		bars := min(len(b.Rates), columns-1-12-len(text))
		add("throughput", sparkline(b.Rates[len(b.Rates)-bars:])+text)
	}
	return lines
}

func (b *Board) counts() string {
	text := fmt.Sprintf("%d of %d cells, %d of %d runs done", b.CellsDone, b.Cells, b.RunsDone, b.Runs)
	if b.Failed > 0 {
		text += fmt.Sprintf(", %d failed", b.Failed)
	}
	if b.Left > 0 {
		text += ", " + remaining(b.Left) + " left"
	}
	return text
}

// medians returns one line per cell, with aligned values.
func (b *Board) medians(height, columns int) (lines []string) {
	most := mostMedians
	if height > 0 {
		most = min(most, height-roomFor)
	}
	shown := b.Medians
	if len(shown) > most {
		shown = shown[:max(0, most-1)]
	}
	name, value := 0, 0
	for _, m := range shown {
		name, value = max(name, len([]rune(quote.Text(m.Cell)))), max(value, len([]rune(m.text())))
	}
	name = min(name, columns-value-23) // leaves room for the label on the left and the number of runs on the right
	for _, m := range shown {
		cell := screen.Cut(quote.Text(m.Cell), name)
		text := strings.Repeat(" ", max(0, value-len([]rune(m.text())))) + m.text()
		lines = append(lines,
			cell+strings.Repeat(" ", name-len([]rune(cell)))+"  "+text+fmt.Sprintf("  n = %d", m.Runs))
	}
	if left := len(b.Medians) - len(shown); left > 0 && most > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", left))
	}
	return lines
}

// now returns the progress of the current run.
func (b *Board) now() string {
	text := quote.Text(b.Now.Phase)
	switch {
	case b.Now.Of > 0:
		text += ", " + screen.Thousands(b.Now.Iterations) + " of " + screen.Thousands(b.Now.Of) + " iterations"
	case b.Now.Iterations > 0:
		text += ", " + screen.Thousands(b.Now.Iterations) + " iterations"
	}
	if b.Now.Loss != nil {
		text += ", loss " + screen.Number(*b.Now.Loss)
	}
	return text
}

// sparkline returns one bar per value. The scale starts at 0, so small differences look small.
func sparkline(values []float64) string {
	const bars = "▁▂▃▄▅▆▇█"
	steps, most := []rune(bars), 0.0
	for _, v := range values {
		most = max(most, v)
	}
	var out strings.Builder
	for _, v := range values {
		step := 0
		if most > 0 {
			step = int(math.Round(v / most * float64(len(steps)-1)))
		}
		out.WriteRune(steps[min(max(0, step), len(steps)-1)])
	}
	return out.String()
}

// Beat returns the progress of the current run.
func (p *Progress) Beat() monitor.Beat {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := monitor.Beat{Phase: p.phase}
	if p.pass == nil {
		return b
	}
	now := p.now()
	b.Iterations, b.Of = p.pass.done, p.pass.total
	b.Rate = p.pass.rate(now) * p.pass.samples
	if p.pass.done > 0 {
		b.Loss = monitor.Finite(p.pass.loss)
	}
	if left, ok := p.pass.left(now); ok {
		b.SecondsLeft = monitor.Finite(left.Seconds())
	}
	return b
}
