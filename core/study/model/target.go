package study

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// goal is a value of a held-out metric that training is to reach.
type goal struct {
	metric Metric
	value  float64
}

// goalNames are what targets may be called.
var goalNames = map[string]string{
	"auc": "held_out_auc", "accuracy": "held_out_accuracy", "loss": HeldOutLoss,
	"held_out_auc": "held_out_auc", "held_out_accuracy": "held_out_accuracy", HeldOutLoss: HeldOutLoss,
}

// targetOf reads "auc=0.80"; "" is no target.
func targetOf(text string) (*goal, error) {
	if text == "" {
		return nil, nil
	}
	name, value, ok := strings.Cut(text, "=")
	if goalNames[name] == "" {
		return nil, fmt.Errorf("target %s must be auc, accuracy or held_out_loss and a value, e.g. auc=0.80", quote.String(text))
	}
	x, err := numeral.Float(value, 64)
	if !ok || err != nil {
		return nil, fmt.Errorf("target %s has the value %s but must have a number, e.g. auc=0.80", quote.String(text), quote.String(value))
	}
	if most := mostOf(name); x < 0 || x > most {
		return nil, fmt.Errorf("target %s has the value %s, which no run can reach: give one from 0 to %v", quote.String(text), quote.Text(value), most)
	}
	m, err := MetricOf(goalNames[name])
	return &goal{m, x}, err
}

// mostOf is the largest value of what a goal may name.
func mostOf(name string) float64 {
	if goalNames[name] == HeldOutLoss {
		return math.Inf(1)
	}
	return 1
}

// reached is the first epoch after which a run was as good as the goal; ok says that there is one.
func (g goal) reached(r *Run) (e Epoch, ok bool) {
	for _, e := range r.Epochs {
		if v, ok := e.Values[g.metric.Name]; ok && !g.metric.beats(g.value, v) && !math.IsNaN(v) {
			return e, true
		}
	}
	return Epoch{}, false
}

// price is what it took a cell to reach the goal. Runs that did not count as longer than all.
type price struct {
	cell           *Cell
	runs, reached  int
	failed         int       // runs that did not come to their end, which are none of runs
	barred         bool      // so many that it cannot be the soonest
	seconds, bytes []float64 // a run each, infinite of those that did not reach it
}

func (g goal) priceOf(c *Cell, runs []*Run, failed int) price {
	p := price{cell: c, failed: failed}
	for _, r := range runs {
		if len(r.Epochs) == 0 {
			continue
		}
		p.runs++
		seconds, bytes := math.Inf(1), math.Inf(1)
		if e, ok := g.reached(r); ok {
			seconds, bytes = e.Seconds, e.Bytes
			p.reached++
		}
		p.seconds, p.bytes = append(p.seconds, seconds), append(p.bytes, bytes)
	}
	return p
}

// middle is the median, infinite where half of the values or more are.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 || math.IsInf(sorted[n/2], 1) {
		return math.Inf(1)
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// text is e.g. "1.234 s and 5.6 MB (9 of 10 runs reached it)".
func (p price) text() string {
	counts := fmt.Sprintf("%d of %s reached it", p.reached, screen.Count(p.runs, "run"))
	if p.failed > 0 {
		counts += fmt.Sprintf(" beside %d that failed", p.failed)
	}
	if p.barred {
		counts += ", for which the cell is barred"
	}
	if math.IsInf(middle(p.seconds), 1) {
		return counts + ", too few for a median"
	}
	return fmt.Sprintf("%s s and %s of gradients, %s", number(middle(p.seconds)), megabytes(middle(p.bytes)), counts)
}

// prices are what it took the cells to reach a goal, the soonest first and those that are barred last.
func (s *Study) prices(g goal) []price {
	var prices []price
	for i, c := range s.Cells {
		runs, failed := c.Runs, len(c.Failed)
		if i == s.Baseline && s.Again != nil {
			runs, failed = slices.Concat(runs, s.Again.Runs), failed+len(s.Again.Failed)
		}
		if p := g.priceOf(c, runs, failed); p.runs > 0 {
			p.barred = s.crashes(c)
			prices = append(prices, p)
		}
	}
	slices.SortStableFunc(prices, func(a, b price) int {
		x, y := middle(a.seconds), middle(b.seconds)
		switch {
		case a.barred != b.barred && b.barred:
			return -1
		case a.barred != b.barred:
			return 1
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return b.reached - a.reached
	})
	return prices
}

// reach says what it takes to reach a goal: of the quickest cell, how sure that is, and of every other one.
func (s *Study) reach(g goal) []Sentence {
	label := "target"
	what := fmt.Sprintf("%s of %s", g.metric.worded(), strconv.FormatFloat(g.value, 'f', -1, 64))
	prices := s.prices(g)
	if len(prices) == 0 {
		return []Sentence{{label, "nothing can be said of a " + what + ": no run was evaluated on held-out samples"}}
	}
	first := prices[0]
	if math.IsInf(middle(first.seconds), 1) {
		none := "no cell"
		if prices[len(prices)-1].barred && !first.barred {
			none = "no cell that is not barred"
		}
		return []Sentence{{label, fmt.Sprintf("%s reaches a %s in most of its runs; %s comes nearest: %s", none, what, first.cell.Name, first.text())}}
	}
	out := []Sentence{{label, fmt.Sprintf("%s reaches a %s soonest: %s%s", first.cell.Name, what, first.text(), s.lead(prices).text())}}
	for i, p := range prices[1:] {
		if i == mostWorks {
			out = append(out, Sentence{label, fmt.Sprintf("and %s", screen.Count(len(prices)-1-i, "slower cell"))})
			break
		}
		out = append(out, Sentence{label, p.cell.Name + ": " + p.text()})
	}
	return out
}

// lead is how the soonest of several cells stands beside the others.
type lead struct {
	yardstick
	open   []string // cells than which it is not proven to be sooner
	second *Cell
	change judge.Change // from the second
}

// lead judges the first of some prices against the others; nil without two that are not barred. A run that did not reach the goal
// takes longer than any that did, and how much longer does not matter to the test.
func (s *Study) lead(prices []price) *lead {
	prices = slices.DeleteFunc(slices.Clone(prices), func(p price) bool { return p.barred })
	if len(prices) < 2 {
		return nil
	}
	longest := 0.0
	for _, p := range prices {
		for _, x := range p.seconds {
			if !math.IsInf(x, 1) {
				longest = max(longest, x)
			}
		}
	}
	finite := func(values []float64) []float64 {
		out := slices.Clone(values)
		for i := range out {
			out[i] = min(out[i], 10*longest)
		}
		return out
	}
	y := yardstick{metric: Metric{Better: Lower}, center: math.NaN(), none: errors.New("the baseline was not evaluated")}
	for _, p := range prices {
		if p.cell == s.Cells[s.Baseline] {
			y.floor, y.none = judge.FloorOf(finite(p.seconds), s.Seed)
		}
	}
	var pairs []judge.Pair
	for _, p := range prices[1:] {
		pairs = append(pairs, judge.Pair{Old: judge.Apart(finite(p.seconds)), New: judge.Apart(finite(prices[0].seconds))})
	}
	changes := y.compare(pairs)
	l := &lead{yardstick: y, second: prices[1].cell, change: changes[0]}
	for i, c := range changes {
		if c.Verdict != judge.Better {
			l.open = append(l.open, prices[1+i].cell.Name)
		}
	}
	return l
}

// text says how sure a lead is; "" without one.
func (l *lead) text() string {
	switch {
	case l == nil:
		return ""
	case len(l.open) > 0:
		return "; it is not proven to be sooner than " + named(l.open)
	}
	return fmt.Sprintf("; proven against the second, %s (%s, floor %s)", l.second.Name, probability(l.change.Adjusted), l.yardstick.text())
}

// megabytes is an amount of bytes for people.
func megabytes(bytes float64) string {
	switch {
	case bytes >= 1e9:
		return number(bytes/1e9) + " GB"
	case bytes >= 1e6:
		return number(bytes/1e6) + " MB"
	}
	return number(bytes/1e3) + " kB"
}
