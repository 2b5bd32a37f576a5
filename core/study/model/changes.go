package study

import (
	"math"
	"strings"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/internal/screen"
)

// change is what runs changed by: −1.5 %, or +0.25 ms where no percentage tells anything.
func (m Metric) change(c judge.Change) string {
	if d := c.Difference; d != nil {
		return m.difference(d.Change)
	}
	return signed(c.Change)
}

// changed is the change from one value to another, as change has it.
func (m Metric) changed(from, to float64) string {
	if change, ok := judge.Relative(from, to); ok {
		return signed(change)
	}
	return m.difference(to - from)
}

// ends are those of the interval of a change; "" without one.
func (m Metric) ends(c judge.Change) string {
	low, high, show := c.Low, c.High, signed
	if d := c.Difference; d != nil {
		low, high, show = d.Low, d.High, m.difference
	}
	if math.IsInf(low, 0) || math.IsInf(high, 0) {
		return ""
	}
	return show(low) + " to " + show(high)
}

// difference is that of two values with its sign and unit. Shares differ by points, since percentages would be
// taken for a relative change.
func (m Metric) difference(by float64) string {
	text := strings.Replace(m.in(number(by)), "-", "−", 1)
	switch {
	case math.IsNaN(by) || math.IsInf(by, 0):
		return "-"
	case by > 0:
		return "+" + text
	}
	return text
}

// in adds the unit of a difference to a number.
func (m Metric) in(text string) string {
	switch m.Unit {
	case "loss", "share", "":
		return text
	case "%":
		return text + " points"
	}
	return text + " " + m.Unit
}

// more says how the new runs of a change relate to the old ones: "8.2 % more", "0.25 ms less".
func (m Metric) more(c judge.Change) string {
	size, by := "", c.Change
	if d := c.Difference; d != nil {
		size, by = m.in(number(math.Abs(d.Change))), d.Change
	} else {
		size = screen.Percent(math.Abs(c.Change))
	}
	if by < 0 {
		return size + " less"
	}
	return size + " more"
}

// text is the floor as a share of what runs have, as many times more or less; in the unit of the metric where no share tells anything.
func (y yardstick) text() string {
	if !y.isShare() {
		return y.metric.in(number(y.floor.Change * math.Abs(y.center)))
	}
	return floorShare(y.floor.Change)
}

// floorShare is a floor as a share; one of more than mostShare says more as a factor.
func floorShare(change float64) string {
	if change > mostShare {
		return "a factor of " + number(1+change)
	}
	return screen.Percent(change)
}

// mostShare is a hundredfold.
const mostShare = 99

// floorOf is the floor that a change had to exceed: that of the machine, or that of its own rounds if they are noisier.
func (y yardstick) floorOf(c judge.Change) string {
	switch {
	case c.Rounds > 0 && c.Difference != nil:
		return y.metric.in(number(c.FloorDifference))
	case c.Rounds > 0:
		return floorShare(c.Floor)
	case y.each:
		return "of its own rounds"
	}
	return y.text()
}

// isShare says whether the floor tells anything as a share: whether what it is relative to, as far as that is one value, is
// above 0.
func (y yardstick) isShare() bool { return math.IsNaN(y.center) || y.center > 0 }

// spread is how far runs are apart, as a share of their median where that tells anything, else in the unit of the metric.
func (m Metric) spread(e judge.Estimate) string {
	if !e.SpreadIsShare() {
		return "± " + m.in(number(e.Deviation))
	}
	return screen.Percent(e.Spread)
}
