package progress

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/internal/golden"
)

// clock is a clock that only the test advances.
type clock struct{ at time.Time }

func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

// on makes a Progress with its own clock. The parameter columns is the width of the terminal; 0 means no terminal.
func on(w io.Writer, columns int, styled, quiet bool) (*Progress, *clock) {
	c := &clock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	var terminal *Terminal
	if columns > 0 {
		terminal = &Terminal{Width: func() int { return columns }, Styled: styled}
	}
	p := New(w, terminal, quiet)
	p.now, p.every = func() time.Time { return c.at }, time.Hour
	return p, c
}

// session reports the progress of a run and then of psbench comm.
func session(p *Progress, c *clock) {
	p.Phase("launch")
	c.pass(700 * time.Millisecond)
	p.Iterations(3, 1) // outside any pass
	p.Phase("warm-up")
	p.Pass(5000, 1000, 0, 20)
	for epoch := 1; epoch <= 6; epoch++ {
		p.Epoch("trainer0", epoch, 6)
	}
	for i := range int64(8) {
		c.pass(125 * time.Millisecond) // shorter than drawEvery
		p.Iterations(100*(i+1), 0.693147)
	}
	p.Phase("measured pass")
	p.Pass(5000, 1000, 0, 20)
	for i, loss := range []float64{0.693147, 1e-7, 12345.678, math.NaN(), math.Inf(1)} {
		c.pass(4 * time.Second)
		p.Iterations(int64(1000*i+10), loss)
	}
	p.Line("trainer0", "is about to end")
	p.Phase("measured pass, of a time")
	p.Pass(0, 0, 15*time.Minute, 0)
	c.pass(11 * time.Second)
	p.Iterations(2, 0.5)
	p.Phase("a pass without an end")
	p.Pass(0, 100, 0, 0)
	c.pass(15 * time.Second)
	p.Iterations(1234567, 0.5)
	c.pass(9 * time.Second)
	p.Iterations(2345678, 0.5)
	for row := 1; row <= 3; row++ {
		p.Phase("allreduce of 4KiB, fresh, inplace")
		p.Row(row, 3)
		c.pass(3 * time.Second)
	}
	p.Phase("a phase whose name is so long that it would wrap: " + strings.Repeat("x", 60))
	p.Done()
	p.Done()
}

func TestProgress(t *testing.T) {
	told := func(columns int, styled, quiet bool) string {
		var out bytes.Buffer
		session(on(&out, columns, styled, quiet))
		// One update per line, with the control characters visible.
		return strings.NewReplacer("\r\x1b[K", "\n<clear>", "\x1b[", "<").Replace(out.String())
	}
	golden.Require(t, "testdata/progress_plain.txt", told(0, false, false))
	for _, columns := range []int{80, 60, 30} {
		golden.Require(t, "testdata/"+fmt.Sprintf("progress_terminal_%d.txt", columns),
			told(columns, false, false)+"\n")
	}
	golden.Require(t, "testdata/progress_terminal_styled.txt", told(80, true, false)+"\n")
	// Plain lines show the first epoch and every fifth one after it, at most ten per pass.
	const ten = "1 6 11 16 21 26 31 36 41 46"
	for epochs, want := range map[int]string{1: "1", 4: "1", 5: "1", 6: "1 6", 11: "1 6 11", 46: ten, 1000: ten} {
		var out, told bytes.Buffer
		p := New(&out, nil, false)
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
	for _, columns := range []int{0, 80} {
		if got, want := told(columns, true, true), "trainer0: is about to end\n"; strings.TrimPrefix(got,
			"\n<clear>") != want {
			t.Errorf("quiet progress wrote %q", got)
		}
	}
}

// The rate covers only the last few seconds.
func TestRate(t *testing.T) {
	p, c := on(io.Discard, 80, false, false)
	p.Pass(1000, 0, 0, 0)
	for _, step := range []struct {
		after time.Duration
		done  int64
		want  float64
	}{
		{0, 0, 0}, {time.Second, 10, 10}, {time.Second, 30, 15}, {3 * time.Second, 90, 18}, {time.Second, 190, 36},
		{time.Minute, 200, 10. / 60}, {time.Second, 201, 11. / 61}, {6 * time.Second, 261, 10},
	} {
		c.pass(step.after)
		p.Iterations(step.done, 1)
		if got := p.pass.rate(c.at); math.Abs(got-step.want) > 1e-9 {
			t.Errorf("after %d iterations the rate is %v, want %v", step.done, got, step.want)
		}
	}
	for range 1000 {
		c.pass(250 * time.Millisecond)
		p.Iterations(1000, 1)
	}
	if got := len(p.pass.recent); got > 22 {
		t.Errorf("it keeps %d marks", got)
	}
}

// The elapsed time keeps updating without other progress, until Done stops the timer.
func TestTimeIsTold(t *testing.T) {
	for _, columns := range []int{0, 80} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			p, _ := on(&out, columns, false, false)
			p.now, p.every = time.Now, New(nil, nil, false).every
			p.Phase("set-up")
			time.Sleep(21500 * time.Millisecond) // ends between two ticks, so nothing else happens at a tick
			p.Phase("measured pass")
			p.Pass(50, 2, 0, 20)
			time.Sleep(11 * time.Second)
			for done := range int64(3) {
				p.Iterations(done+1, 0.5)
				time.Sleep(12 * time.Second)
			}
			p.Iterations(50, 0.5)
			time.Sleep(11 * time.Second)
			p.Done()
			time.Sleep(time.Minute)
			p.Phase("row")
			p.Row(4, 12)
			time.Sleep(11500 * time.Millisecond)
			p.Done()
			golden.Require(t, "testdata/"+fmt.Sprintf("progress_time_%d.txt", columns),
				strings.ReplaceAll(out.String(), clearLine, "\n<clear>"))
		})
	}
}

// A line fits every terminal, whatever its texts are.
func TestLiveLineFits(t *testing.T) {
	text := rapid.StringMatching(`[a-zü,/ ]{0,40}`)
	rapid.Check(t, func(t *rapid.T) {
		l := live{text.Draw(t, "phase"), text.Draw(t, "epoch"), text.Draw(t, "count"), text.Draw(t, "short"),
			text.Draw(t, "rate"), text.Draw(t, "samples"), text.Draw(t, "loss"), text.Draw(t, "time")}
		columns := rapid.IntRange(1, 160).Draw(t, "columns")
		given := rapid.IntRange(0, 7).Draw(t, "given")
		plain, gave := l.fit(columns, given, false)
		if utf8.RuneCountInString(plain) > columns || gave < given {
			t.Fatalf("on %d columns: %q", columns, plain)
		}
		if again, gaveAgain := l.fit(columns, gave, false); again != plain || gaveAgain != gave {
			t.Fatalf("what has given way gives way again: %q, then %q", plain, again)
		}
		bold, _ := l.fit(columns, given, true)
		styled := regexp.MustCompile("\x1b\\[[0-9]m").ReplaceAllString(bold, "")
		if styled != plain && l.phase != "" {
			t.Fatalf("styled it says %q, plain %q", styled, plain)
		}
	})
}

func TestNumbersOfTheLiveLine(t *testing.T) {
	for rate, want := range map[float64]string{0.0123: "0.0123", 1.5: "1.50", 99.44: "99.4", 812.4: "812",
		15811.3: "15,811"} {
		if got := rounded(rate); got != want {
			t.Errorf("%v is %q", rate, got)
		}
	}
	for seconds, want := range map[float64]string{
		0: "0.0 s", 4.56: "4.6 s", 46.4: "46 s", 200: "3 min 20 s", 119.6: "2 min 0 s", 7500: "2 h 5 min",
	} {
		if got := remaining(time.Duration(seconds * float64(time.Second))); got != want {
			t.Errorf("%v s are %q", seconds, got)
		}
	}
}

// Lines of processes appear above the progress line and leave it unchanged.
func TestLinesOfProcesses(t *testing.T) {
	for want, terminal := range map[string]bool{
		"warm-up\ndata: loaded \\x1b[2J    x\nmeasured pass\n":                                false,
		"<clear>warm-up<clear>data: loaded \\x1b[2J    x\nwarm-up<clear>measured pass<clear>": true,
	} {
		var out bytes.Buffer
		p, _ := on(&out, map[bool]int{true: 80}[terminal], false, false)
		p.Phase("warm-up")
		p.Line("data", "loaded \x1b[2J\tx\r")
		p.Phase("measured pass")
		p.Done()
		if got := strings.ReplaceAll(out.String(), clearLine, "<clear>"); got != want {
			t.Errorf("on a terminal (%v) it wrote %q, want %q", terminal, got, want)
		}
	}
	var out bytes.Buffer
	p, _ := on(&out, 80, false, true)
	p.Phase("warm-up")
	p.Line("data", "loaded")
	p.Done()
	if got := out.String(); got != clearLine+"data: loaded\n" {
		t.Errorf("quiet progress wrote %q", got)
	}
}

// A stalled reader blocks no one, and later sees how many lines were dropped.
func TestAStoppedReader(t *testing.T) {
	const lines = 100_000
	r, w := io.Pipe()
	p := New(w, nil, false)
	for i := range lines {
		p.Line("data", strconv.Itoa(i))
		p.Phase("phase")
	}
	read := make(chan int)
	go func() {
		lines := 0
		for s := bufio.NewScanner(r); s.Scan(); lines++ {
			dropped := 0
			if n, _ := fmt.Sscanf(s.Text(), "psbench: %d lines dropped: the reader fell behind", &dropped); n == 1 {
				lines += dropped - 1
			}
		}
		read <- lines
	}()
	p.Done()
	p.out.wait(time.Minute)
	_ = w.Close()
	if got := <-read; got != 2*lines {
		t.Errorf("of %d lines %d were shown or counted", 2*lines, got)
	}
}
