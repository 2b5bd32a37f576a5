package progress

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/screen"
)

// pace tracks the position and the speed of a pass.
type pace struct {
	began   time.Time
	total   int64         // iterations of the pass; 0 if unknown
	batches int64         // per epoch; 0 if unknown
	length  time.Duration // of the pass; 0 if the pass has no set length
	samples float64       // of all trainers during one iteration of the reporting trainer; 0 if unknown
	done    int64
	loss    float64
	recent  []mark // since the start of the window
}

// mark is the number of completed iterations at a moment.
type mark struct {
	at   time.Time
	done int64
}

// window is the period over which the rate is averaged.
const window = 5 * time.Second

// note records the current position of the pass.
func (p *pace) note(m mark, loss float64) {
	p.done, p.loss = m.done, loss
	p.recent = append(p.recent, m)
	old := 0
	for old < len(p.recent)-2 && m.at.Sub(p.recent[old+1].at) >= window {
		old++
	}
	p.recent = slices.Delete(p.recent, 0, old)
}

// rate returns iterations per second, or 0 if unknown. If the current iteration already takes longer than the window,
// the rate assumes that this iteration ends now.
func (p *pace) rate(now time.Time) float64 {
	first, last := p.recent[0], p.recent[len(p.recent)-1]
	seconds := last.at.Sub(first.at).Seconds()
	if seconds <= 0 {
		return 0
	}
	rate := float64(last.done-first.done) / seconds
	if still := now.Sub(last.at); still > window && p.done != p.total {
		rate = min(rate, 1/still.Seconds())
	}
	return rate
}

// left estimates the time until the end of the pass. It returns false if the time is unknown.
func (p *pace) left(now time.Time) (time.Duration, bool) {
	rate, last := p.rate(now), p.recent[len(p.recent)-1]
	switch {
	case p.length > 0:
		return max(0, p.length-now.Sub(p.began)), true
	case p.total > 0 && rate > 0:
		left := time.Duration(float64(max(0, p.total-p.done)) / rate * float64(time.Second))
		return max(0, left-now.Sub(last.at)), true
	default:
		return 0, false
	}
}

// live is the progress line of a phase, split into its parts. Unknown parts are empty.
type live struct {
	phase, epoch, count, short, rate, samples, loss, time string
}

// live returns the progress line of a pass.
func (p *pace) live(phase string, now time.Time) live {
	l := live{phase: phase, count: screen.Thousands(p.done) + " iterations"}
	l.short = screen.Thousands(p.done) + " iter."
	if p.batches > 0 && p.done > 0 {
		l.epoch = "epoch " + screen.Thousands((p.done-1)/p.batches+1)
	}
	if p.total > 0 {
		l.count = fmt.Sprintf("%s of %s iterations", screen.Thousands(p.done), screen.Thousands(p.total))
		l.short = screen.Thousands(p.done) + "/" + screen.Thousands(p.total)
	}
	if rate := p.rate(now); rate > 0 {
		l.rate = rounded(rate) + "/s"
		if p.samples > 0 {
			l.samples = rounded(rate*p.samples) + " samples/s"
		}
	}
	if p.done > 0 {
		l.loss = "loss " + lossText(p.loss)
	}
	if left, ok := p.left(now); ok {
		l.time = remaining(left) + " left"
	}
	return l
}

// parts returns the non-empty parts in order.
func (l live) parts() []string {
	return slices.DeleteFunc([]string{l.phase, l.epoch, l.count, l.rate, l.samples, l.loss, l.time},
		func(part string) bool { return part == "" })
}

// fit returns the line for a screen of so many columns. It always omits the epoch, for which there is seldom room. If
// the line is too wide, fit drops parts in this order: samples per second, the long form of the count, loss, rate,
// time, count. At last it cuts the phase.
//
// The parameter given is the number of drops so far in this phase. Each call repeats those drops even if there is
// room, to avoid flicker, and returns the new number. If styled is true, the phase is bold and the time is dim.
func (l live) fit(columns, given int, styled bool) (string, int) {
	l.epoch = ""
	text := func() string { return strings.Join(l.parts(), "  ") }
	for i, give := range []func(){
		func() { l.samples = "" }, func() { l.count = l.short }, func() { l.loss = "" },
		func() { l.rate = "" }, func() { l.time = "" }, func() { l.count = "" },
		func() { l.phase = screen.Cut(l.phase, columns) },
	} {
		if i >= given && len([]rune(text())) <= columns {
			break
		}
		give()
		given = max(given, i+1)
	}
	if styled {
		l.phase = "\x1b[1m" + l.phase + "\x1b[0m"
		if l.time != "" {
			l.time = "\x1b[2m" + l.time + "\x1b[0m"
		}
	}
	return text(), given
}

// rounded formats a rate with at least three digits.
func rounded(rate float64) string {
	switch {
	case rate >= 100:
		return screen.Thousands(int64(rate + 0.5))
	case rate >= 10:
		return strconv.FormatFloat(rate, 'f', 1, 64)
	case rate >= 1:
		return strconv.FormatFloat(rate, 'f', 2, 64)
	default:
		return strconv.FormatFloat(rate, 'g', 3, 64)
	}
}

// remaining formats a duration for people, e.g. "4.6 s", "3 min 20 s" or "2 h 5 min".
func remaining(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 100*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 100*time.Minute:
		d = d.Round(time.Second)
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	default:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
}

// lossText formats a loss as the page does. It also shows NaN and +Inf by name, because the user must see them.
func lossText(loss float64) string {
	if !numeral.Finite(loss) {
		return strconv.FormatFloat(loss, 'g', -1, 64)
	}
	return screen.Number(loss)
}
