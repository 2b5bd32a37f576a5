package study

import (
	"fmt"
	"strings"

	"github.com/psbench/psbench/core/judge"
	"github.com/psbench/psbench/core/screen"
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
	add("matters", s.matters(m))
	for _, text := range s.changes(m, contests) {
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
	if n := len(o.rivals); n > 1 {
		text += fmt.Sprintf(" adjusted for %s", screen.Count(n, "comparison"))
	}
	return text + ", floor " + o.text()
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
		text += fmt.Sprintf(" (%s%s, %s)", change, of, probability(next.change.Adjusted))
	}
	if worse := len(o.rivals) - len(open); worse > 0 {
		text += fmt.Sprintf("; %s ruled out", are(worse, "other"))
	}
	return text + "; " + o.toTell(next, len(open))
}

// toTell says how many runs would tell the best cell from a rival, which is one of so many that are open.
func (o *contest) toTell(r rival, open int) string {
	best, other := len(o.runs(o.best)), len(o.runs(r.cell))
	have := min(best, other)
	if few := judge.FewestRuns(open, judge.Again(other, best)); have < few && !judge.Provable(other, best, open) {
		runs := screen.Count(best, "run") + " of each are"
		switch {
		case best != other:
			runs = fmt.Sprintf("%s and %d are", screen.Count(best, "run"), other)
		case best == 1:
			runs = "1 run of each is"
		}
		return fmt.Sprintf("%s too few to prove anything in %s, which takes %d of each", runs, screen.Count(open, "comparison"), few)
	}
	switch needed := r.change.Needed; {
	case o.none != nil:
		return fmt.Sprintf("without a noise floor, of which %s of the baseline give none, nothing is proven", screen.Count(o.of, "run"))
	case r.change.Change == 0:
		return "they are equal, which more runs do not tell apart"
	case needed > judge.MostNeeded:
		return fmt.Sprintf("that is so little beside the noise that %s of each would not tell", screen.Count(judge.MostNeeded, "run"))
	case needed > 0:
		return fmt.Sprintf("some %s of each would tell, if the difference is there (now %d)", screen.Count(needed, "run"), have)
	}
	return "how many runs would tell cannot be estimated"
}

// lossText says at what held-out loss the best cell leads, and which cells cannot win for theirs.
func (o *contest) lossText() string {
	var parts []string
	if o.best != nil {
		switch l := o.lossOf(o.best); {
		case l.known && o.alone():
			parts = append(parts, "held-out loss "+number(l.median))
		case l.known:
			parts = append(parts, o.best.Name+": "+o.describe(l, o.best == o.reference))
		}
	}
	var faster []string
	for _, c := range o.barred {
		if o.best == nil || o.metric.beats(o.median(c), o.median(o.best)) {
			faster = append(faster, fmt.Sprintf("%s (%s, held-out loss %s)", c.Name, o.metric.quantity(o.median(c)), o.lossChange(o.lossOf(c))))
		}
	}
	if len(faster) > 0 {
		parts = append(parts, "better but worse in loss beyond its floor, and so no winner: "+named(faster))
	} else if n := len(o.barred); n > 0 {
		parts = append(parts, fmt.Sprintf("%s worse in loss beyond its floor", are(n, "other cell")))
	}
	if len(parts) == 0 && o.study.OneRun() {
		return "not known: the run was not evaluated on held-out samples"
	}
	if len(parts) == 0 {
		return "not known: no run was evaluated on held-out samples"
	}
	return strings.Join(parts, "; ")
}

func (o *contest) describe(l loss, isReference bool) string {
	text := "held-out loss " + number(l.median)
	if isReference {
		return text + ", which the others are compared with"
	}
	reference := "the baseline"
	if o.reference != o.study.Cells[o.study.Baseline] {
		reference = o.reference.Name
	}
	text += fmt.Sprintf(", that of %s %s (%s, ", reference, number(l.reference), o.lossChange(l))
	if o.losses.none != nil {
		return text + "without a floor)"
	}
	return text + "floor " + o.losses.text() + ")"
}

// lossChange is how a loss differs from that of the reference.
func (o *contest) lossChange(l loss) string {
	if text := o.losses.metric.changed(l.reference, l.median); text != "-" {
		return text
	}
	return "not finite"
}

// leastHook is the share of hooks, in %, from which they are named: most only call a link.
const leastHook = 0.5

// limit says what the iterations of the best cell are spent on.
func (o *contest) limit() string {
	if o.best == nil {
		return ""
	}
	type part struct {
		metric, what, verb string
		share              float64
	}
	parts := []part{{Compute, "computing", "", 0}, {Hooking, "hooks", "", 0}, {Waiting, "waiting for the last trainer", "", 0}, {Moving, "moving and reducing bytes", "", 0}}
	most, rest := 0, 100.0
	var words []string
	for i := range parts {
		p := &parts[i]
		values := o.best.Of(p.metric)
		if len(values) == 0 {
			if p.metric == Waiting || p.metric == Hooking {
				continue // where nobody waits for another, or no hook was stamped
			}
			return ""
		}
		p.share = judge.Of(values).Median
		if p.metric == Hooking && p.share < leastHook {
			continue
		}
		rest -= p.share
		if p.share > parts[most].share {
			most = i
		}
		words = append(words, fmt.Sprintf("%s %.0f %%", p.what, p.share))
	}
	limits := parts[most].what
	if rest > parts[most].share {
		limits = "the rest: getting data, and what is between the parts"
	}
	what := o.best.Name
	if o.alone() {
		what = "training"
	}
	return fmt.Sprintf("%s is limited by %s (of an iteration: %s, the rest %.0f %%)", what, limits, strings.Join(words, ", "), max(0, rest))
}

// are is "1 other is" or "7 others are".
func are(n int, thing string) string {
	if n == 1 {
		return "1 " + thing + " is"
	}
	return fmt.Sprintf("%d %ss are", n, thing)
}
