package study

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// FloorText says below which change nothing is believed, and why.
func (v *Verdicts) FloorText() string {
	if len(v.Rows) == 1 && v.Again == nil && v.Rows[0].Cell.ofOneRun() {
		return "not known: one run does not show how far equal runs differ, which psbench noise measures"
	}
	if v.NoFloor != nil {
		return "none, so nothing is proven: " + v.NoFloor.Error()
	}
	if v.held.each {
		return "each comparison has its own: how far its rounds go up and down by themselves"
	}
	of := screen.Count(v.FloorOf, "run") + " of the baseline, split into halves at random, differ"
	if v.InRounds && !v.Metric.learns() {
		of = fmt.Sprintf("the baseline and its A/A cell, %s of each in the same rounds, differ", screen.Count(v.FloorOf, "run"))
	}
	text := fmt.Sprintf("%s of the %s: %s by less in 95 of 100 cases", v.held.text(), v.Metric.worded(), of)
	if v.InRounds {
		text += "; a noisier cell must exceed the floor of its own rounds" + v.noisier()
	}
	if v.Within != "" {
		text += " at each size"
	}
	return text
}

// noisier are the cells which only the noise of their own rounds keeps from being proven, each with its floor.
func (v *Verdicts) noisier() string {
	var cells []string
	for _, r := range v.Rows {
		if r.Compared && !r.Change.Proven() && r.Change.Adjusted < judge.Alpha && r.Change.Exceeds(v.Floor) && !r.Change.Exceeds(judge.Floor{Change: r.Change.Floor}) {
			cells = append(cells, r.Cell.Name+" "+v.held.floorOf(r.Change))
		}
	}
	if len(cells) == 0 {
		return ""
	}
	return ": " + named(cells)
}

// mostReasons bounds the reasons of failures that are told.
const mostReasons = 10

// Remarks are what there is to say below the table of the cells: the noise floor, what looking early costs, what is withheld, what was
// checked, the warnings in full, and what did not run, each with its reason.
func (s *Study) Remarks(v *Verdicts) []Sentence {
	var out []Sentence
	add := func(label, text string) {
		if text != "" {
			out = append(out, Sentence{label, text})
		}
	}
	if len(s.Cells) > 0 {
		add("floor", v.FloorText())
		add("early", s.early())
		add("drift", s.driftText(v.Metric))
		add("p99", s.withheld())
		add("checked", s.checked())
	}
	for _, text := range s.warned(v.Metric.Name) {
		add("warning", quote.Message(text))
	}
	s.addFailed(add)
	s.addSkipped(add)
	return out
}

// withheld says of which cells there is no p99, "" of none.
func (s *Study) withheld() string {
	few := 0
	for _, c := range s.Cells {
		have := len(c.Of(P99)) == len(c.Runs)
		if !have && slices.ContainsFunc(c.Runs, func(r *Run) bool { return r.Iterations > 0 }) {
			few++
		}
	}
	if few == 0 {
		return ""
	}
	if s.OneRun() {
		return fmt.Sprintf("withheld: the run has fewer than %d iterations", judge.PercentileSamples(99))
	}
	return fmt.Sprintf("withheld of %s, whose runs have fewer than %d iterations", screen.Count(few, "cell"), judge.PercentileSamples(99))
}

// addFailed tells why runs failed, each reason once.
func (s *Study) addFailed(add func(label, text string)) {
	var failed []Failure
	for _, c := range s.All() {
		failed = append(failed, c.Failed...)
	}
	groups := grouped(failed)
	for i, group := range groups {
		if i == mostReasons {
			add("failed", fmt.Sprintf("and %s, which psbench sweep status shows", screen.Count(len(groups)-i, "other reason")))
			break
		}
		var folders []string
		for _, f := range group {
			folders = append(folders, quote.Word(f.Folder))
		}
		add("failed", fmt.Sprintf("%s: %s (%s)", screen.Count(len(group), "run"), quote.Message(group[0].Reason), named(folders)))
	}
}

// addSkipped tells why cells are skipped, each reason once.
func (s *Study) addSkipped(add func(label, text string)) {
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

// grouped are failures by their reason, in the order of the first of each. Reasons are the same that differ in
// numbers of processes, ranks and addresses alone.
func grouped(failed []Failure) [][]Failure {
	var groups [][]Failure
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

// passing is what is different each time something fails in the same way: which process and rank it was, on which
// host and goroutine, and what registers and addresses held.
var passing = regexp.MustCompile(`(?i)\b(process |pid[ =]|rank |goroutine |trainer|server|node)\d+|\b0x[0-9a-f]+|\b(?:\d+\.\d+\.\d+\.\d+|localhost):\d+|\[[0-9a-f:]+\]:\d+`)

// AllWarnings are those of the study, and in which ways its runs were not measured in the same environment.
func (s *Study) AllWarnings() []string {
	texts := slices.Concat(s.Warnings, s.mixed())
	for i, text := range texts {
		texts[i] = quote.Message(text)
	}
	return texts
}
