package words

import (
	"math"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/screen"
)

// changeText is what runs changed by: −1.5 %, or +0.25 ms where no percentage tells anything.
func changeText(m model.Metric, c judge.Change) string {
	if d := c.Difference; d != nil {
		return differenceText(m, d.Change)
	}
	return signed(c.Change)
}

// changedText is the change from one value to another, as change has it.
func changedText(m model.Metric, from, to float64) string {
	if change, ok := judge.Relative(from, to); ok {
		return signed(change)
	}
	return differenceText(m, to-from)
}

// endsText are those of the interval of a change; "" without one.
func endsText(m model.Metric, c judge.Change) string {
	low, high, show := c.Low, c.High, signed
	if d := c.Difference; d != nil {
		low, high = d.Low, d.High
		show = func(by float64) string { return differenceText(m, by) }
	}
	if !numeral.Finite(low, high) {
		return ""
	}
	return show(low) + " to " + show(high)
}

// differenceText is that of two values with its sign and unit. Shares differ by points, since percentages would be
// taken for a relative change.
func differenceText(m model.Metric, by float64) string {
	text := withUnit(m, screen.Number(by))
	switch {
	case !numeral.Finite(by):
		return "-"
	case by > 0:
		return "+" + text
	}
	return text
}

// withUnit adds the unit of a difference to a number.
func withUnit(m model.Metric, text string) string {
	switch m.Unit {
	case "loss", "share", "":
		return text
	case "%":
		return text + " points"
	}
	return text + " " + m.Unit
}

// moreText says how the new runs of a change relate to the old ones: "8.2 % more", "0.25 ms less".
func moreText(m model.Metric, c judge.Change) string {
	size, by := "", c.Change
	if d := c.Difference; d != nil {
		size, by = withUnit(m, screen.Number(math.Abs(d.Change))), d.Change
	} else {
		size = screen.Percent(math.Abs(c.Change))
	}
	if by < 0 {
		return size + " less"
	}
	return size + " more"
}

// yardstickText is the floor as a share of what runs have, as many times more or less; in the unit of the metric where
// no share tells anything.
func yardstickText(y verdict.Yardstick) string {
	if !y.IsShare() {
		return withUnit(y.Metric, screen.Number(y.Floor.Change*math.Abs(y.Center)))
	}
	return floorShare(y.Floor.Change)
}

// floorShare is a floor as a share; one of more than mostShare says more as a factor.
func floorShare(change float64) string {
	if change > mostShare {
		return "a factor of " + screen.Number(1+change)
	}
	return screen.Percent(change)
}

// mostShare is a hundredfold.
const mostShare = 99

// floorOf is the floor that a change had to exceed: that of the machine, or that of its own rounds if they are noisier.
func floorOf(y verdict.Yardstick, c judge.Change) string {
	switch {
	case c.Rounds > 0 && c.Difference != nil:
		return withUnit(y.Metric, screen.Number(c.FloorDifference))
	case c.Rounds > 0:
		return floorShare(c.Floor)
	case y.Each:
		return "of its own rounds"
	}
	return yardstickText(y)
}

// spreadText is how far runs are apart, as a share of their median where that tells anything, else in the unit of the
// metric.
func spreadText(m model.Metric, e judge.Estimate) string {
	if !e.SpreadIsShare() {
		return "± " + withUnit(m, screen.Number(e.Deviation))
	}
	return screen.Percent(e.Spread)
}
