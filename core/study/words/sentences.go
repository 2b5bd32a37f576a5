package words

import (
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/internal/screen"
)

// Sentence is one answer and its subject. Details are shown only on demand.
type Sentence struct {
	Label, Text string
	Detail      bool
}

// mostWorks is the largest number of works that get their own sentences.
const mostWorks = 8

// Sentences answers the question of a study. It states first what is proven, then which cells it recommends, then what
// is not proven and how many runs would prove it. The remaining sentences are details. The result depends only on the
// arguments.
//
// target is a value of a held-out metric, e.g. "auc=0.80", or "" for none. If it is set, a sentence states the seconds
// and bytes that the target takes. An invalid target is an error.
func Sentences(s *model.Study, m model.Metric, target string) ([]Sentence, error) {
	goal, err := verdict.GoalOf(target)
	if err != nil {
		return nil, err
	}
	contests := verdict.Contests(s, m)
	if len(contests) == 0 {
		return []Sentence{{Label: labelOf(m), Text: nothing(s, m)}}, nil
	}
	var lead summary
	var rest []Sentence
	var sizes []Sentence // one for each operation, about all sizes
	if s.WithinAt() >= 0 {
		sizes = appendSentence(bySize(s, contests), "excluded", crashedText(s, contests), false)
		contests = nil
	}
	for i, o := range contests {
		decided := lead.add(o) && len(o.Open()) == 0
		if i < mostWorks {
			rest = append(rest, ofWork(o, decided)...)
		} else if i == mostWorks {
			rest = appendSentence(rest, labelOf(m),
				fmt.Sprintf("and %s, which --metric and the table show", screen.Count(len(contests)-i, "more work")), true)
		}
	}
	if m.Name == model.Throughput {
		batch, _ := model.MetricOf(model.TimePerBatch)
		for i, o := range verdict.Contests(s, batch) {
			if i < mostWorks {
				rest = appendSentence(rest, "batch time", winner(o), true)
			}
		}
	}
	if goal != nil {
		rest = append(rest, reach(s, *goal)...)
	}
	excluded := map[*model.Cell]bool{} // cells that cannot be best
	for _, o := range contests {
		for _, c := range o.Barred {
			excluded[c] = true
		}
	}
	duels := verdict.DuelsOf(s, m, excluded)
	switch text, proven := matters(s, m, duels); {
	case proven:
		lead.proven = slices.Insert(lead.proven, 0, text)
	case text != "":
		lead.unproven = append(lead.unproven, text)
	}
	lead.proven = append(lead.proven, changesTexts(s, duels)...)
	return slices.Concat(sizes, lead.sentences(), rest), nil
}

func appendSentence(to []Sentence, label, text string, detail bool) []Sentence {
	if text == "" {
		return to
	}
	return append(to, Sentence{label, text, detail})
}

// ofWork returns the sentences of one work. If the contest is decided, its winner is already among the proven facts.
func ofWork(o *verdict.Contest, decided bool) (out []Sentence) {
	if !decided {
		out = appendSentence(out, labelOf(o.Metric), winner(o), len(o.Open()) > 0)
	}
	out = appendSentence(out, "excluded", crashedText(o.Study, []*verdict.Contest{o}), false)
	if !o.Study.IsComm() { // psbench comm trains nothing
		out = appendSentence(out, "loss", lossText(o), len(o.Losses) == 0)
	}
	for _, text := range dataTexts(o) {
		out = appendSentence(out, "data", text, false)
	}
	out = appendSentence(out, "limit", limitText(o), true)
	return appendSentence(out, "bound", boundText(o), true)
}

// labelOf returns the label of a metric's sentences.
func labelOf(m model.Metric) string {
	if len(m.Name) > 11 {
		return "winner"
	}
	return strings.ReplaceAll(m.Name, "_", " ")
}

// nothing explains why there is no answer.
func nothing(s *model.Study, m model.Metric) string {
	switch done, failed, waiting := s.Counts(); {
	case done > 0:
		return fmt.Sprintf("nothing can be said: none of %s has a %s", screen.Count(done, "run"), worded(m))
	case failed == 1 && waiting == 0:
		return "nothing can be said: the only run failed"
	case failed > 0 && waiting == 0:
		return fmt.Sprintf("nothing can be said: all of %s failed", screen.Count(failed, "run"))
	default:
		return fmt.Sprintf("nothing can be said yet: no run has come to its end, %s failed, %s waiting",
			screen.Thousands(int64(failed)), screen.Thousands(int64(waiting)))
	}
}

// winner names the best cell and states how certain that is.
func winner(o *verdict.Contest) string {
	work := ""
	if o.Name != "" {
		work = o.Name + ": "
	}
	if o.Best == nil {
		return work + "nothing can win: every cell is excluded " + whyBarred(o)
	}
	open := o.Open()
	by := ""
	if o.Metric.Name != model.Throughput {
		by = " by " + worded(o.Metric)
	}
	switch {
	case o.Study.OneRun():
		return work + value(o, o.Best)
	case alone(o):
		return fmt.Sprintf("%s%s: with one cell there is nothing to compare it with", work, value(o, o.Best))
	case len(o.Cells) == 1 && len(o.Bounds) > 0:
		return fmt.Sprintf("%sthere is nothing to compare: only the trainers of %s exchange anything, %s", work,
			o.Best.Name, value(o, o.Best))
	case len(o.Cells) == 1:
		return fmt.Sprintf("%sthere is nothing to compare: only %s has runs, %s", work, o.Best.Name, value(o, o.Best))
	case len(o.Rivals) == 0:
		return fmt.Sprintf("%sonly %s can win%s, with %s: every other cell is excluded %s", work, title(o, o.Best), by,
			value(o, o.Best), whyBarred(o))
	case len(open) == 0:
		second := o.Rivals[0]
		return fmt.Sprintf("%s%s wins%s: %s, %s than %s, the second (%s)", work, title(o, o.Best), by, value(o, o.Best),
			moreText(o.Metric, second.Change), second.Cell.Name, proof(o, second.Change))
	}
	return work + undecided(o, by, open)
}

// alone reports whether the study has only one cell. The text then omits the cell's name.
func alone(o *verdict.Contest) bool { return len(o.Study.Cells) == 1 }

// title returns the name of a cell, followed by the names of cells with the same experiment.
func title(o *verdict.Contest, c *model.Cell) string {
	var same []string
	for _, other := range o.Study.Cells {
		if other.Same == c.ID {
			same = append(same, other.Name)
		}
	}
	if len(same) == 0 {
		return c.Name
	}
	return fmt.Sprintf("%s (the same experiment as %s)", c.Name, named(same))
}

// value returns the median of a cell, its interval and its number of runs.
func value(o *verdict.Contest, c *model.Cell) string {
	e := judge.Of(o.Runs(c))
	if !e.HasInterval {
		return fmt.Sprintf("%s (%s)", quantity(o.Metric, e.Median), counted(o, c, e.N))
	}
	return fmt.Sprintf("%s (95 %% interval %s – %s, %s)", quantity(o.Metric, e.Median), screen.Number(e.Low),
		screen.Number(e.High), counted(o, c, e.N))
}

// proof returns the evidence for a proven change.
func proof(o *verdict.Contest, c judge.Change) string {
	text := fmt.Sprintf("interval %s, %s", endsText(o.Metric, c), probability(c.Adjusted))
	if n := o.Comparisons; n > 1 {
		text += fmt.Sprintf(" adjusted for %s", screen.Count(n, "comparison"))
	}
	return text + ", floor " + floorOf(o.Yardstick, c)
}

// undecided names the leading cell and the cells that might be better. It states how many runs would decide.
func undecided(o *verdict.Contest, by string, open []verdict.Rival) string {
	next := open[0]
	text := fmt.Sprintf("not proven which is best%s: %s leads with %s, ", by, o.Best.Name, value(o, o.Best))
	if len(open) == 1 {
		text += "but is not proven to be better than " + next.Cell.Name
	} else {
		var names []string
		for _, r := range open {
			names = append(names, r.Cell.Name)
		}
		text += fmt.Sprintf("but is not proven to be better than %s", named(names))
	}
	if change := changeText(o.Metric, next.Change); change != "-" {
		of := ""
		if len(open) > 1 {
			of = " over the first"
		}
		floor := ""
		if next.Change.Adjusted < judge.Alpha { // only the floor prevents a proof
			floor = ", floor " + floorOf(o.Yardstick, next.Change)
		}
		text += fmt.Sprintf(" (%s%s, %s%s)", change, of, probability(next.Change.Adjusted), floor)
	}
	if worse := len(o.Rivals) - len(open); worse > 0 {
		text += fmt.Sprintf("; %s ruled out", are(worse, "other"))
	}
	return text + "; " + toTell(o, next)
}

// toTell states how many runs would prove the difference between the best cell and a rival.
func toTell(o *verdict.Contest, r verdict.Rival) string {
	best, other := len(r.Pair.New.Values), len(r.Pair.Old.Values)
	have := min(best, other)
	needed := r.Change.Needed
	if r.Pair.Old.InRounds() && r.Change.Rounds == 0 {
		return "they have no run in the same round, so nothing is proven"
	}
	if ok, fewest := r.Pair.Provable(o.Comparisons); !ok && have < fewest {
		few := few(o, best, other)
		switch {
		case needed > judge.MostNeeded:
			return few + ", and a proof is not within reach: the difference is too small beside the noise"
		case needed > fewest:
			return fmt.Sprintf("%s; some %s of each would tell, if the difference is there", few,
				screen.Count(needed, "run"))
		}
		return fmt.Sprintf("%s, which takes %d of each", few, fewest)
	}
	switch {
	case o.None != nil:
		return "nothing is proven: " + o.None.Error()
	case r.Change.Change == 0:
		return "they are equal, which more runs do not tell apart"
	case needed > judge.MostNeeded:
		return "a proof is not within reach: the difference is too small beside the noise"
	case needed > 0:
		return fmt.Sprintf("some %s of each would tell, if the difference is there (now %d)",
			screen.Count(needed, "run"), have)
	}
	return "how many runs would tell cannot be estimated"
}

// few states that two cells have too few runs to prove anything.
func few(o *verdict.Contest, best, other int) string {
	runs := screen.Count(best, "run") + " of each are"
	switch {
	case best != other:
		runs = fmt.Sprintf("%s and %d are", screen.Count(best, "run"), other)
	case best == 1:
		runs = "1 run of each is"
	}
	return fmt.Sprintf("%s too few to prove anything in %s", runs, screen.Count(o.Comparisons, "comparison"))
}

// are returns "1 other is" or "7 others are".
func are(n int, thing string) string {
	if n == 1 {
		return "1 " + thing + " is"
	}
	return fmt.Sprintf("%d %ss are", n, thing)
}
