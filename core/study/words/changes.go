package words

import (
	"math"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/screen"
)

// changeText returns a change as text: −1.5 %, or +0.25 ms if a percentage makes no sense.
func changeText(m model.Metric, c judge.Change) string {
	if d := c.Difference; d != nil {
		return differenceText(m, d.Change)
	}
	return signed(c.Change)
}

// changedText returns the change from one value to another in the same form as changeText.
func changedText(m model.Metric, from, to float64) string {
	if change, ok := judge.Relative(from, to); ok {
		return signed(change)
	}
	return differenceText(m, to-from)
}

// endsText returns the ends of the change's interval, or "" if there is no interval.
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

// differenceText returns a difference with its sign and unit. Shares differ by points, because a percentage would look
// like a relative change.
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

// withUnit appends the unit of a difference to a number.
func withUnit(m model.Metric, text string) string {
	switch m.Unit {
	case "loss", "share", "":
		return text
	case "%":
		return text + " points"
	}
	return text + " " + m.Unit
}

// moreText describes the new runs relative to the old ones: "8.2 % more", "0.25 ms less".
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

// yardstickText returns the floor as a percentage of the runs' median, or in the metric's unit if a percentage makes no
// sense.
func yardstickText(y verdict.Yardstick) string {
	if !y.IsShare() {
		return withUnit(y.Metric, screen.Number(y.Floor.Change*math.Abs(y.Center)))
	}
	return floorShare(y.Floor.Change)
}

// floorShare returns a floor as a percentage, or as a factor if it exceeds mostShare.
func floorShare(change float64) string {
	if change > mostShare {
		return "a factor of " + screen.Number(1+change)
	}
	return screen.Percent(change)
}

// mostShare is the largest floor that floorShare gives as a percentage. 99 means a hundredfold change.
const mostShare = 99

// floorOf returns the floor that a change had to exceed: the machine's floor, or the floor of the comparison's own
// rounds if these are noisier.
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

// spreadText returns the spread of runs as a percentage of their median, or in the metric's unit if a percentage makes
// no sense.
func spreadText(m model.Metric, e judge.Estimate) string {
	if !e.SpreadIsShare() {
		return "± " + withUnit(m, screen.Number(e.Deviation))
	}
	return screen.Percent(e.Spread)
}
