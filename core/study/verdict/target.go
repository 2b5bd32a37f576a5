package verdict

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/quote"
)

// Goal is a value of a held-out metric that training should reach.
type Goal struct {
	Metric model.Metric
	Value  float64
}

// goalNames maps the accepted names in a target to metrics.
var goalNames = map[string]string{
	"auc": "held_out_auc", "accuracy": "held_out_accuracy", "loss": model.HeldOutLoss,
	"held_out_auc": "held_out_auc", "held_out_accuracy": "held_out_accuracy", model.HeldOutLoss: model.HeldOutLoss,
}

// GoalOf parses a target such as "auc=0.80". It returns nil for "".
func GoalOf(text string) (*Goal, error) {
	if text == "" {
		return nil, nil
	}
	name, value, ok := strings.Cut(text, "=")
	if goalNames[name] == "" {
		return nil, fmt.Errorf("target %s must be auc, accuracy or held_out_loss and a value, e.g. auc=0.80",
			quote.String(text))
	}
	x, err := numeral.Float(value, 64)
	if !ok || err != nil {
		return nil, fmt.Errorf("target %s has the value %s but must have a number, e.g. auc=0.80", quote.String(text),
			quote.String(value))
	}
	if most := mostOf(name); x < 0 || x > most {
		return nil, fmt.Errorf("target %s has the value %s, which no run can reach: give one from 0 to %v",
			quote.String(text), quote.Text(value), most)
	}
	m, err := model.MetricOf(goalNames[name])
	return &Goal{m, x}, err
}

// mostOf returns the largest possible value of the metric with this name in a target.
func mostOf(name string) float64 {
	if goalNames[name] == model.HeldOutLoss {
		return math.Inf(1)
	}
	return 1
}

// reached returns the first epoch after which a run met the goal. ok is false if the run never met it.
func (g Goal) reached(r *model.Run) (e model.Epoch, ok bool) {
	for _, e := range r.Epochs {
		if v, ok := e.Values[g.Metric.Name]; ok && !g.Metric.Beats(g.Value, v) && !math.IsNaN(v) {
			return e, true
		}
	}
	return model.Epoch{}, false
}

// Price is the amount of training that a cell needed to reach the goal. A run that did not reach the goal counts as
// longer than all others.
type Price struct {
	Cell           *model.Cell
	Runs, Reached  int
	Failed         int       // number of failed runs, which Runs excludes
	Barred         bool      // so many runs failed that the cell cannot rank first
	Seconds, Bytes []float64 // one value for each run; infinite if the run did not reach the goal
}

func (g Goal) priceOf(c *model.Cell, runs []*model.Run, failed int) Price {
	p := Price{Cell: c, Failed: failed}
	for _, r := range runs {
		if len(r.Epochs) == 0 {
			continue
		}
		p.Runs++
		seconds, bytes := math.Inf(1), math.Inf(1)
		if e, ok := g.reached(r); ok {
			seconds, bytes = e.Seconds, e.Bytes
			p.Reached++
		}
		p.Seconds, p.Bytes = append(p.Seconds, seconds), append(p.Bytes, bytes)
	}
	return p
}

// Prices returns the price of each evaluated cell. The fastest cell comes first; barred cells come last.
func Prices(s *model.Study, g Goal) []Price {
	var prices []Price
	for i, c := range s.Cells {
		runs, failed := c.Runs, len(c.Failed)
		if i == s.Baseline && s.Again != nil {
			runs, failed = slices.Concat(runs, s.Again.Runs), failed+len(s.Again.Failed)
		}
		if p := g.priceOf(c, runs, failed); p.Runs > 0 {
			p.Barred = crashes(s, c)
			prices = append(prices, p)
		}
	}
	slices.SortStableFunc(prices, func(a, b Price) int {
		x, y := numeral.Median(a.Seconds), numeral.Median(b.Seconds)
		switch {
		case a.Barred != b.Barred && b.Barred:
			return -1
		case a.Barred != b.Barred:
			return 1
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return b.Reached - a.Reached
	})
	return prices
}

// Lead compares the cell that reaches the goal first with the others.
type Lead struct {
	Yardstick
	Open   []string // cells that may be as fast as the first
	Second *model.Cell
	Change judge.Change // change from the second cell to the first
}

// LeadOf compares the first of the prices with the others. It returns nil if fewer than two are not barred. A run that
// did not reach the goal counts as longer than any run that did. How much longer does not affect the test.
func LeadOf(s *model.Study, prices []Price) *Lead {
	prices = slices.DeleteFunc(slices.Clone(prices), func(p Price) bool { return p.Barred })
	if len(prices) < 2 {
		return nil
	}
	longest := 0.0
	for _, p := range prices {
		for _, x := range p.Seconds {
			if !math.IsInf(x, 1) {
				longest = max(longest, x)
			}
		}
	}
	capped := func(values []float64) []float64 {
		out := slices.Clone(values)
		for i := range out {
			out[i] = min(out[i], 10*longest)
		}
		return out
	}
	y := Yardstick{Metric: model.Metric{Better: model.Lower}, Center: math.NaN(),
		None: errors.New("the baseline was not evaluated")}
	for _, p := range prices {
		if p.Cell == s.Cells[s.Baseline] {
			y.Floor, y.None = judge.FloorOf(capped(p.Seconds), s.Seed)
		}
	}
	var pairs []judge.Pair
	for _, p := range prices[1:] {
		pairs = append(pairs,
			judge.Pair{Old: judge.Apart(capped(p.Seconds)), New: judge.Apart(capped(prices[0].Seconds))})
	}
	changes := y.compare(pairs)
	l := &Lead{Yardstick: y, Second: prices[1].Cell, Change: changes[0]}
	for i, c := range changes {
		if c.Verdict != judge.Better {
			l.Open = append(l.Open, prices[1+i].Cell.Name)
		}
	}
	return l
}
