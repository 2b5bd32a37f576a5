package progress

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/internal/golden"
)

// boardOf returns the board of a sweep with so many cells.
func boardOf(cells int) Board {
	loss := 0.693147
	b := Board{
		Cells: cells, CellsDone: cells - 1, Runs: 6 * cells, RunsDone: 5, Failed: 1, Left: 200 * time.Second,
		Now: monitor.Beat{Phase: "measured pass", Iterations: 1234, Of: 4000, Loss: &loss},
	}
	for i := range cells {
		b.Medians = append(b.Medians, Median{Cell: fmt.Sprintf("server=average ntrainer=%d\x1b[2J", 1<<i),
			Value: 15000 / float64(i*i*i+1), Unit: "samples/s", Runs: 6 - i})
	}
	for i := range 40 {
		b.Rates = append(b.Rates, float64(1000+i%8*100))
	}
	return b
}

func TestBoard(t *testing.T) {
	var out strings.Builder
	for _, c := range []struct {
		columns, height int
		styled          bool
		board           Board
	}{
		{80, 25, false, boardOf(3)},
		{80, 25, false, boardOf(9)},
		{60, 9, false, boardOf(9)},
		{100, 6, true, boardOf(2)},
		{59, 25, false, boardOf(3)},
		{0, 0, false, Board{Rates: []float64{0, 5, 10, 10}}},
	} {
		t.Run(fmt.Sprint(c.columns), func(t *testing.T) {
			terminal := &Terminal{Width: func() int { return c.columns }, Height: func() int { return c.height },
				Styled: c.styled}
			fmt.Fprintf(&out, "%d columns, %d lines\n", c.columns, c.height)
			for _, line := range c.board.lines(terminal) {
				fmt.Fprintf(&out, "|%s|\n", strings.ReplaceAll(line, "\x1b", "<"))
				if n := utf8.RuneCountInString(styles.ReplaceAllString(line, "")); c.columns > 0 && n >= c.columns {
					t.Errorf("on %d columns there are %d: %s", c.columns, n, line)
				}
			}
		})
	}
	golden.Require(t, "testdata/board.txt", out.String())
}

var styles = regexp.MustCompile(`\x1b\[[0-9]m`)

func TestSparkline(t *testing.T) {
	for want, values := range map[string][]float64{
		"":         nil,
		"▁▁":       {0, 0},
		"███":      {5, 5, 5},
		"▁▅█":      {0, 5, 10},
		"▁█":       {-1, 1},
		"▁▂▃▄▅▆▇█": {0, 1, 2, 3, 4, 5, 6, 7},
	} {
		t.Run(want, func(t *testing.T) {
			if got := sparkline(values); got != want {
				t.Errorf("of %v there is %s, want %s", values, got, want)
			}
		})
	}
}

// glass emulates a terminal screen. It supports only the control sequences that a Progress uses.
type glass struct {
	lines       [][]rune
	row, column int
}

var control = regexp.MustCompile(`^\x1b\[([0-9]*)([A-Za-z])`)

func (g *glass) show(t testing.TB, text string) {
	for text != "" {
		for len(g.lines) <= g.row {
			g.lines = append(g.lines, nil)
		}
		if m := control.FindStringSubmatch(text); m != nil {
			text = text[len(m[0]):]
			n, _ := strconv.Atoi(m[1])
			switch m[2] {
			case "A":
				if n > g.row {
					t.Fatalf("it goes up %d lines of %d", n, g.row)
				}
				g.row -= n
			case "J":
				g.lines = g.lines[:g.row+1]
				fallthrough
			case "K":
				g.lines[g.row] = g.lines[g.row][:min(g.column, len(g.lines[g.row]))]
			case "m":
			default:
				t.Fatalf("it writes %q", m[0])
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		switch r {
		case '\r':
			g.column = 0
		case '\n': // a terminal also returns to column 0
			g.row, g.column = g.row+1, 0
		default:
			line := g.lines[g.row]
			for len(line) <= g.column {
				line = append(line, ' ')
			}
			line[g.column] = r
			g.lines[g.row], g.column = line, g.column+1
		}
	}
}

func (g *glass) String() string {
	var out []string
	for _, line := range g.lines {
		out = append(out, strings.TrimRight(string(line), " "))
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

// Boards grow and shrink while other lines are printed. The screen always has exactly one board, below all printed
// lines. After Done, only the printed lines remain.
func TestBoardOnScreen(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var out bytes.Buffer
		p, c := on(&out, 90, rapid.Bool().Draw(rt, "styled"), false)
		settle := func() { p.out.wait(time.Minute) }
		var printed []string
		p.Board(boardOf(1))
		p.Phase("run 1 of 8")
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			settle()
			switch rapid.IntRange(0, 3).Draw(rt, "step") {
			case 0:
				p.Board(boardOf(rapid.IntRange(1, 9).Draw(rt, "cells")))
			case 1:
				printed = append(printed, "trainer0: says something")
				p.Line("trainer0", "says something")
			case 2:
				printed = append(printed, "a note")
				p.Note("a note")
			case 3:
				p.Phase("run 2 of 8")
			}
			c.pass(time.Second)
			settle()
			p.tick()
		}
		settle()
		var g glass
		g.show(t, out.String())
		want := strings.Join(append(append(printed, p.board.lines(&Terminal{Width: func() int { return 90 }})...), ""),
			"\n")
		if got := g.String(); !strings.HasPrefix(got, want) || strings.Count(got, "throughput") != 1 ||
			!strings.Contains(got[len(want):], "run ") {
			rt.Fatalf("the screen has\n%s\nwant\n%s", got, want)
		}
		p.Done()
		g = glass{}
		g.show(t, out.String())
		if got := g.String(); got != strings.Join(printed, "\n") {
			rt.Fatalf("in the end the screen has\n%s", got)
		}
		if strings.Contains(out.String(), "\x1b[?") {
			rt.Fatal("it changes what it would have to restore")
		}
	})
}

// With a board, psbench draws the screen once a second, however many updates arrive.
func TestBoardIsDrawnOnceASecond(t *testing.T) {
	var out bytes.Buffer
	p, c := on(&out, 80, false, false)
	p.Board(boardOf(2))
	p.Phase("run 1 of 8")
	for second := range 5 {
		for i := range 50 {
			p.Phase("run 2 of 8")
			p.Pass(1000, 0, 0, 10)
			p.Iterations(int64(i), 1)
			p.Board(boardOf(2))
			c.pass(20 * time.Millisecond)
		}
		p.out.wait(time.Minute)
		if n := strings.Count(out.String(), "throughput"); n != second+1 {
			t.Fatalf("after %d seconds it was drawn %d times", second+1, n)
		}
		p.tick()
	}
	p.Done()
}

// After another program used the terminal, or after its width changed, psbench draws a new board below the existing
// lines.
func TestBoardAfterOthers(t *testing.T) {
	var out bytes.Buffer
	p, _ := on(&out, 80, false, false)
	columns := 80
	p.terminal.Width = func() int { return columns }
	p.Board(boardOf(2))
	p.Phase("run 1 of 8")
	p.out.wait(time.Minute)
	for i, change := range []func(){p.Resumed, func() { columns = 70 }} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			out.Reset()
			change()
			p.tick()
			p.out.wait(time.Minute)
			if strings.Contains(out.String(), "A") {
				t.Errorf("it goes up: %q", out.String())
			}
		})
	}
	p.Done()
}

// Beat returns the same progress whether or not the Progress is quiet.
func TestBeat(t *testing.T) {
	for _, quiet := range []bool{true, false} {
		t.Run(fmt.Sprint(quiet), func(t *testing.T) {
			p, c := on(&bytes.Buffer{}, 0, false, quiet)
			if b := p.Beat(); b != (monitor.Beat{}) {
				t.Errorf("before it begins it tells %+v", b)
			}
			p.Phase("measured pass")
			p.Pass(100, 10, 0, 20)
			c.pass(2 * time.Second)
			p.Iterations(10, 0.5)
			b := p.Beat()
			if b.Phase != "measured pass" || b.Iterations != 10 || b.Of != 100 || b.Rate != 100 || *b.Loss != 0.5 ||
				*b.SecondsLeft != 18 {
				t.Errorf("it tells %+v", b)
			}
			p.Done()
		})
	}
}
