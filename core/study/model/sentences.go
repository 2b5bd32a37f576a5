package study

import (
	"fmt"
	"strings"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/internal/screen"
)

// Sentence is one answer, and what it is about.
type Sentence struct{ Label, Text string }

// mostWorks bounds the works of which each has sentences of its own.
const mostWorks = 8

// Sentences answer what a study was made for: which combination wins by the metric, how surely and
// at what loss, what matters, and what limits the winner. They come of the study alone. A target is a
// value of a held-out metric, e.g. "auc=0.80", whose price in seconds and bytes is told; "" is none.
func (s *Study) Sentences(m Metric, target string) ([]Sentence, error) {
	var out []Sentence
	add := func(label, text string) {
		if text != "" {
			out = append(out, Sentence{label, text})
		}
	}
	goal, err := targetOf(target)
	if err != nil {
		return nil, err
	}
	contests := s.contests(m)
	if len(contests) == 0 {
		add(labelOf(m), s.nothing(m))
		return out, nil
	}
	if s.within() >= 0 {
		out = append(out, s.bySize(contests)...)
		add("barred", s.crashedText(contests))
		contests = nil
	}
	for i, o := range contests {
		if i == mostWorks {
			add(labelOf(m), fmt.Sprintf("and %s, which --metric and the table show", screen.Count(len(contests)-i, "more work")))
			break
		}
		add(labelOf(m), o.winner())
		add("barred", s.crashedText(contests[i:i+1]))
		if !s.isComm() { // which trains nothing
			add("loss", o.lossText())
		}
		for _, text := range o.dataTexts() {
			add("data", text)
		}
		add("limit", o.limit())
		add("bound", o.boundText())
	}
	if m.Name == Throughput {
		batch, _ := MetricOf(TimePerBatch)
		for i, o := range s.contests(batch) {
			if i < mostWorks {
				add("batch time", o.winner())
			}
		}
	}
	if goal != nil {
		out = append(out, s.reach(*goal)...)
	}
	barred := map[*Cell]bool{} // which cannot be best
	for _, o := range contests {
		for _, c := range o.barred {
			barred[c] = true
		}
	}
	duels := s.duels(m, barred)
	add("matters", s.matters(m, duels))
	for _, text := range s.changes(duels) {
		add("changes", text)
	}
	return out, nil
}

// labelOf is what a metric is called before its sentences.
func labelOf(m Metric) string {
	if len(m.Name) > 11 {
		return "winner"
	}
	return strings.ReplaceAll(m.Name, "_", " ")
}

// nothing says why nothing can be said.
func (s *Study) nothing(m Metric) string {
	switch done, failed, waiting := s.counts(); {
	case done > 0:
		return fmt.Sprintf("nothing can be said: none of %s has a %s", screen.Count(done, "run"), m.worded())
	case failed == 1 && waiting == 0:
		return "nothing can be said: the only run failed"
	case failed > 0 && waiting == 0:
		return fmt.Sprintf("nothing can be said: all of %s failed", screen.Count(failed, "run"))
	default:
		return fmt.Sprintf("nothing can be said yet: no run has come to its end, %s failed, %s waiting", screen.Thousands(int64(failed)), screen.Thousands(int64(waiting)))
	}
}

// winner says which cell is best and how sure that is.
func (o *contest) winner() string {
	work := ""
	if o.name != "" {
		work = o.name + ": "
	}
	if o.best == nil {
		return work + "nothing can win: every cell is barred " + o.why()
	}
	open := o.open()
	by := ""
	if o.metric.Name != Throughput {
		by = " by " + o.metric.worded()
	}
	switch {
	case o.study.OneRun():
		return work + o.value(o.best)
	case o.alone():
		return fmt.Sprintf("%s%s: with one cell there is nothing to compare it with", work, o.value(o.best))
	case len(o.cells) == 1 && len(o.bounds) > 0:
		return fmt.Sprintf("%sthere is nothing to compare: only the trainers of %s exchange anything, %s", work, o.best.Name, o.value(o.best))
	case len(o.cells) == 1:
		return fmt.Sprintf("%sthere is nothing to compare: only %s has runs, %s", work, o.best.Name, o.value(o.best))
	case len(o.rivals) == 0:
		return fmt.Sprintf("%sonly %s can win%s, with %s: every other cell is barred %s", work, o.title(o.best), by, o.value(o.best), o.why())
	case len(open) == 0:
		second := o.rivals[0]
		return fmt.Sprintf("%s%s wins%s: %s, %s than %s, the second (%s)", work, o.title(o.best), by, o.value(o.best), o.metric.more(second.change), second.cell.Name, o.proof(second.change))
	}
	return work + o.undecided(by, open)
}

// alone says that all runs are of one cell, whose name says nothing.
func (o *contest) alone() bool { return len(o.study.Cells) == 1 }

// title is the name of a cell, with those that are of the same experiment.
func (o *contest) title(c *Cell) string {
	var same []string
	for _, other := range o.study.Cells {
		if other.Same == c.ID {
			same = append(same, other.Name)
		}
	}
	if len(same) == 0 {
		return c.Name
	}
	return fmt.Sprintf("%s (the same experiment as %s)", c.Name, named(same))
}

// value is the median of a cell, how sure it is, and of how many runs.
func (o *contest) value(c *Cell) string {
	e := judge.Of(o.runs(c))
	if !e.HasInterval {
		return fmt.Sprintf("%s (%s)", o.metric.quantity(e.Median), o.counted(c, e.N))
	}
	return fmt.Sprintf("%s (95 %% interval %s – %s, %s)", o.metric.quantity(e.Median), number(e.Low), number(e.High), o.counted(c, e.N))
}

// proof is what stands behind a change that is proven.
func (o *contest) proof(c judge.Change) string {
	text := fmt.Sprintf("interval %s, %s", o.metric.ends(c), probability(c.Adjusted))
	if n := o.comparisons; n > 1 {
		text += fmt.Sprintf(" adjusted for %s", screen.Count(n, "comparison"))
	}
	return text + ", floor " + o.floorOf(c)
}

// undecided says who leads, who might be better, and what it would take to tell.
func (o *contest) undecided(by string, open []rival) string {
	next := open[0]
	text := fmt.Sprintf("cannot tell which is best%s: %s leads with %s, ", by, o.best.Name, o.value(o.best))
	if len(open) == 1 {
		text += "but is not proven to be better than " + next.cell.Name
	} else {
		var names []string
		for _, r := range open {
			names = append(names, r.cell.Name)
		}
		text += fmt.Sprintf("but is not proven to be better than %s", named(names))
	}
	if change := o.metric.change(next.change); change != "-" {
		of := ""
		if len(open) > 1 {
			of = " over the first"
		}
		floor := ""
		if next.change.Adjusted < judge.Alpha { // so it is the floor that keeps it from being proven
			floor = ", floor " + o.floorOf(next.change)
		}
		text += fmt.Sprintf(" (%s%s, %s%s)", change, of, probability(next.change.Adjusted), floor)
	}
	if worse := len(o.rivals) - len(open); worse > 0 {
		text += fmt.Sprintf("; %s ruled out", are(worse, "other"))
	}
	return text + "; " + o.toTell(next)
}

// toTell says how many runs would tell the best cell from a rival.
func (o *contest) toTell(r rival) string {
	best, other := len(r.pair.New.Values), len(r.pair.Old.Values)
	have := min(best, other)
	needed := r.change.Needed
	if r.pair.Old.InRounds() && r.change.Rounds == 0 {
		return "they have no run in the same round, so nothing is proven"
	}
	if ok, fewest := r.pair.Provable(o.comparisons); !ok && have < fewest {
		few := o.few(best, other)
		switch {
		case needed > judge.MostNeeded:
			return few + ", and a proof is not within reach: the difference is too small beside the noise"
		case needed > fewest:
			return fmt.Sprintf("%s; some %s of each would tell, if the difference is there", few, screen.Count(needed, "run"))
		}
		return fmt.Sprintf("%s, which takes %d of each", few, fewest)
	}
	switch {
	case o.none != nil:
		return "nothing is proven: " + o.none.Error()
	case r.change.Change == 0:
		return "they are equal, which more runs do not tell apart"
	case needed > judge.MostNeeded:
		return "a proof is not within reach: the difference is too small beside the noise"
	case needed > 0:
		return fmt.Sprintf("some %s of each would tell, if the difference is there (now %d)", screen.Count(needed, "run"), have)
	}
	return "how many runs would tell cannot be estimated"
}

// few says that so many runs of two cells prove nothing.
func (o *contest) few(best, other int) string {
	runs := screen.Count(best, "run") + " of each are"
	switch {
	case best != other:
		runs = fmt.Sprintf("%s and %d are", screen.Count(best, "run"), other)
	case best == 1:
		runs = "1 run of each is"
	}
	return fmt.Sprintf("%s too few to prove anything in %s", runs, screen.Count(o.comparisons, "comparison"))
}

// are is "1 other is" or "7 others are".
func are(n int, thing string) string {
	if n == 1 {
		return "1 " + thing + " is"
	}
	return fmt.Sprintf("%d %ss are", n, thing)
}
