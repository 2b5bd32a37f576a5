package words

import (
	"fmt"
	"math"
	"strconv"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/screen"
)

// priceText returns a price, e.g. "1.234 s and 5.6 MB (9 of 10 runs reached it)".
func priceText(p verdict.Price) string {
	counts := fmt.Sprintf("%d of %s reached it", p.Reached, screen.Count(p.Runs, "run"))
	if p.Failed > 0 {
		counts += fmt.Sprintf(" beside %d that failed", p.Failed)
	}
	if p.Barred {
		counts += ", for which the cell is excluded"
	}
	if math.IsInf(numeral.Median(p.Seconds), 1) {
		return counts + ", too few for a median"
	}
	return fmt.Sprintf("%s s and %s of gradients, %s", screen.Number(numeral.Median(p.Seconds)),
		megabytes(numeral.Median(p.Bytes)), counts)
}

// reach describes the training that a goal takes. It names the fastest cell, the certainty of its lead, and the prices
// of the other cells.
func reach(s *model.Study, g verdict.Goal) []Sentence {
	const label = "target"
	what := fmt.Sprintf("%s of %s", worded(g.Metric), strconv.FormatFloat(g.Value, 'f', -1, 64))
	prices := verdict.Prices(s, g)
	if len(prices) == 0 {
		text := "nothing can be said of a " + what + ": no run was evaluated on held-out samples"
		return appendSentence(nil, label, text, false)
	}
	first := prices[0]
	if math.IsInf(numeral.Median(first.Seconds), 1) {
		none := "no cell"
		if prices[len(prices)-1].Barred && !first.Barred {
			none = "no cell that is not excluded"
		}
		return appendSentence(nil, label, fmt.Sprintf("%s reaches a %s in most of its runs; %s comes nearest: %s", none,
			what, first.Cell.Name, priceText(first)), false)
	}
	out := appendSentence(nil, label, fmt.Sprintf("%s reaches a %s soonest: %s%s", first.Cell.Name, what,
		priceText(first), leadText(verdict.LeadOf(s, prices))), false)
	for i, p := range prices[1:] {
		if i == mostWorks {
			return appendSentence(out, label, "and "+screen.Count(len(prices)-1-i, "slower cell"), true)
		}
		out = appendSentence(out, label, p.Cell.Name+": "+priceText(p), true)
	}
	return out
}

// leadText states how certain a lead is. It returns "" if there is no lead.
func leadText(l *verdict.Lead) string {
	switch {
	case l == nil:
		return ""
	case len(l.Open) > 0:
		return "; it is not proven to be sooner than " + named(l.Open)
	}
	return fmt.Sprintf("; proven against the second, %s (%s, floor %s)", l.Second.Name, probability(l.Change.Adjusted),
		yardstickText(l.Yardstick))
}

// megabytes returns a number of bytes as text for people.
func megabytes(bytes float64) string {
	switch {
	case bytes >= 1e9:
		return screen.Number(bytes/1e9) + " GB"
	case bytes >= 1e6:
		return screen.Number(bytes/1e6) + " MB"
	}
	return screen.Number(bytes/1e3) + " kB"
}
