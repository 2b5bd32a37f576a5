package words

import (
	"fmt"
	"math"

	"regexp"
	"slices"

	"github.com/psbench/psbench/core/study/model"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// FloorText states the change below which nothing is proven, and where this floor comes from.
func FloorText(v *verdict.Table) string {
	if len(v.Rows) == 1 && v.Again == nil && v.Rows[0].Cell.OfOneRun() {
		return "not known: one run does not show how far equal runs differ, which psbench noise measures"
	}
	if v.NoFloor != nil {
		return "none, so nothing is proven: " + v.NoFloor.Error()
	}
	if v.Held.Each {
		return "each comparison has its own: how far its rounds go up and down by themselves"
	}
	of := screen.Count(v.FloorOf, "run") + " of the baseline, split into halves at random, differ"
	if v.InRounds && !v.Metric.Learns() {
		of = fmt.Sprintf("the baseline and its A/A cell, %s of each in the same rounds, differ",
			screen.Count(v.FloorOf, "run"))
	}
	text := fmt.Sprintf("%s of the %s: %s by less in 95 of 100 cases", yardstickText(v.Held), worded(v.Metric), of)
	if v.InRounds {
		text += "; a noisier cell must exceed the floor of its own rounds" + noisier(v)
	}
	if v.Within != "" {
		text += " at each size"
	}
	return text
}

// noisier lists the cells whose change is not proven only because of the noise of their own rounds. It gives the floor
// of each cell.
func noisier(v *verdict.Table) string {
	var cells []string
	for _, r := range v.Rows {
		if r.Compared && !r.Change.Proven() && r.Change.Adjusted < judge.Alpha && r.Change.Exceeds(v.Floor) &&
			!r.Change.Exceeds(judge.Floor{Change: r.Change.Floor}) {
			cells = append(cells, r.Cell.Name+" "+floorOf(v.Held, r.Change))
		}
	}
	if len(cells) == 0 {
		return ""
	}
	return ": " + named(cells)
}

// mostReasons is the largest number of failure reasons that Remarks lists.
const mostReasons = 10

// Remarks returns the lines below the table of cells: the noise floor, the cost of looking early, withheld metrics,
// checks, the full warnings, and each reason for failed runs and skipped cells.
func Remarks(s *model.Study, v *verdict.Table) []Sentence {
	var out []Sentence
	add := func(label, text string) {
		if text != "" {
			out = append(out, Sentence{Label: label, Text: text})
		}
	}
	if len(s.Cells) > 0 {
		add("floor", FloorText(v))
		add("early", early(s))
		add("drift", driftText(s, v.Metric))
		add("p99", withheld(s))
		add("checked", checked(s))
	}
	for _, text := range verdict.Warnings(s, v.Metric.Name) {
		add("warning", quote.Message(text))
	}
	addFailed(s, add)
	addSkipped(s, add)
	return out
}

// withheld states how many cells have no p99. It returns "" if all cells have one.
func withheld(s *model.Study) string {
	few := 0
	for _, c := range s.Cells {
		have := len(c.Of(model.P99)) == len(c.Runs)
		if !have && slices.ContainsFunc(c.Runs, func(r *model.Run) bool { return r.Iterations > 0 }) {
			few++
		}
	}
	if few == 0 {
		return ""
	}
	if s.OneRun() {
		return fmt.Sprintf("withheld: the run has fewer than %d iterations", judge.PercentileSamples(99))
	}
	return fmt.Sprintf("withheld of %s, whose runs have fewer than %d iterations", screen.Count(few, "cell"),
		judge.PercentileSamples(99))
}

// addFailed adds each reason why runs failed.
func addFailed(s *model.Study, add func(label, text string)) {
	var failed []model.Failure
	for _, c := range s.All() {
		failed = append(failed, c.Failed...)
	}
	groups := grouped(failed)
	for i, group := range groups {
		if i == mostReasons {
			add("failed",
				fmt.Sprintf("and %s, which psbench sweep status shows", screen.Count(len(groups)-i, "other reason")))
			break
		}
		var folders []string
		for _, f := range group {
			folders = append(folders, quote.Word(f.Folder))
		}
		add("failed", fmt.Sprintf("%s: %s (%s)", screen.Count(len(group), "run"), quote.Message(group[0].Reason),
			named(folders)))
	}
}

// addSkipped adds each reason why cells were skipped.
func addSkipped(s *model.Study, add func(label, text string)) {
	reasons := map[string][]string{}
	var order []string
	for _, c := range s.Cells {
		if c.Skipped != "" {
			if reasons[c.Skipped] == nil {
				order = append(order, c.Skipped)
			}
			reasons[c.Skipped] = append(reasons[c.Skipped], c.Name)
		}
	}
	for _, why := range order {
		add("skipped", fmt.Sprintf("%s: %s", named(reasons[why]), quote.Message(why)))
	}
}

// grouped groups failures by reason, in the order in which the reasons first appear. Two reasons count as equal if they
// differ only in text that passing matches.
func grouped(failed []model.Failure) [][]model.Failure {
	var groups [][]model.Failure
	places := map[string]int{}
	for _, f := range failed {
		reason := passing.ReplaceAllString(f.Reason, "$1#")
		at, ok := places[reason]
		if !ok {
			at, groups = len(groups), append(groups, nil)
			places[reason] = at
		}
		groups[at] = append(groups[at], f)
	}
	return groups
}

// passing matches text that changes each time the same failure happens: process, rank, host and goroutine numbers,
// registers and addresses.
var passing = regexp.MustCompile(`(?i)\b(process |pid[ =]|rank |goroutine |trainer|server|node)\d+|\b0x[0-9a-f]+|\b(?:\d+\.\d+\.\d+\.\d+|localhost):\d+|\[[0-9a-f:]+\]:\d+`)

// Early warns of the cost of judging a sweep before its planned end.
const Early = "if you look early and use --extend until something is proven, 6 to 19 % of studies raise a false alarm, not 5 %"

// early states that runs are still waiting or that --extend added rounds. It returns "" if the runs are as first
// planned.
func early(s *model.Study) string {
	switch done, _, waiting := s.Counts(); {
	case done == 0:
		return ""
	case waiting > 0:
		return fmt.Sprintf("%s: %s", are(waiting, "run")+" waiting", Early)
	case s.Begun > 0:
		return fmt.Sprintf("--extend added rounds to the first %s: %s", screen.Thousands(int64(s.Begun)), Early)
	}
	return ""
}

// driftText states how much the machine drifted. It returns "" if the drift is within the noise.
func driftText(s *model.Study, m model.Metric) string {
	drift, ok := verdict.DriftOf(s, m)
	if !ok {
		return ""
	}
	how := ""
	if drift.Steady {
		how = ", and rose over the rounds"
		if drift.Least > drift.Most {
			how = ", and fell over the rounds"
		}
	}
	return fmt.Sprintf("the machine drifted by %s: over all cells the %s was lowest in round %d and highest in round %d%s; comparisons are within rounds, so this changes none of them",
		screen.Percent(math.Abs(drift.Change)), worded(m), drift.Least, drift.Most, how)
}
