package listing

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// Plan writes a sweep's cells, hosts and skipped cells, its expected time, and whether it has enough runs to prove
// anything. If dir has a sweep, Plan also writes how that sweep differs.
func Plan(page *screen.Page, p *sweep.Plan, spec *sweep.Spec, dir string) error {
	if spec.Question != "" {
		page.Text(quote.Message(spec.Question) + "\n")
	}
	if err := page.Grid(planColumns(p), planRows(p), false); err != nil {
		return err
	}
	for _, line := range slices.Concat(countLines(p), hostLines(p), skippedLines(p), timeLines(p), proofLines(p),
		warningLines(p), differenceLines(p, dir)) {
		page.Line(2, line)
	}
	return nil
}

func planColumns(p *sweep.Plan) []screen.Column {
	columns := []screen.Column{screen.Right("cell")}
	for _, axis := range p.Axes {
		columns = append(columns, screen.Left(axis.Name))
	}
	return append(columns, screen.Left("runs"))
}

func planRows(p *sweep.Plan) [][]string {
	places := map[string]int{}
	var rows [][]string
	for i, c := range p.Cells {
		places[c.ID] = i + 1
		runs := fmt.Sprint(p.Repeats)
		switch {
		case c.Skipped != "":
			runs = "skipped"
		case c.Same != "":
			runs = fmt.Sprintf("those of cell %d", places[c.Same])
		case i == p.Baseline && p.Again:
			runs = fmt.Sprintf("%d, and %d again: the baseline", p.Repeats, p.Repeats)
		case i == p.Baseline:
			runs += ": the baseline"
		}
		row := append([]string{fmt.Sprint(i + 1)}, c.Values...)
		rows = append(rows, append(row, runs))
	}
	return rows
}

func countLines(p *sweep.Plan) []string {
	same, skipped := 0, 0
	for _, c := range p.Cells {
		switch {
		case c.Skipped != "":
			skipped++
		case c.Same != "":
			same++
		}
	}
	line := fmt.Sprintf("%s: %d to run", screen.Count(len(p.Cells), "cell"), len(p.Running()))
	if same > 0 {
		line += fmt.Sprintf(", %d with the experiment of another, whose runs they share", same)
	}
	if skipped > 0 {
		line += fmt.Sprintf(", %d skipped", skipped)
	}
	return []string{line + "."}
}

// hostLines names the hosts of every run. It returns nothing for a single host.
func hostLines(p *sweep.Plan) []string {
	if len(p.Hosts) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("each run goes over %s: %s.", screen.Count(len(p.Hosts), "host"),
		strings.Join(p.Hosts, ", "))}
}

// skippedLines returns a line for each reason that cells are skipped, with those cells.
func skippedLines(p *sweep.Plan) []string {
	var reasons []string
	cells := map[string][]string{}
	for i, c := range p.Cells {
		if c.Skipped == "" {
			continue
		}
		if cells[c.Skipped] == nil {
			reasons = append(reasons, c.Skipped)
		}
		cells[c.Skipped] = append(cells[c.Skipped], fmt.Sprint(i+1))
	}
	lines := make([]string, len(reasons))
	for i, reason := range reasons {
		lines[i] = fmt.Sprintf("skipped, %s: %s", cellList(cells[reason]), reason)
	}
	return lines
}

// cellList names cells by number. If there are more than 8, it names only the first ones.
func cellList(cells []string) string {
	const most = 8
	switch {
	case len(cells) == 1:
		return "cell " + cells[0]
	case len(cells) <= most:
		return "cells " + strings.Join(cells, ", ")
	default:
		return fmt.Sprintf("%d cells from %s on", len(cells), cells[0])
	}
}

func timeLines(p *sweep.Plan) []string {
	var known time.Duration
	runs := 0
	for _, turn := range p.Turns(0) {
		if e := p.Cells[turn.Cell].Expected; e > 0 {
			known, runs = known+e, runs+1
		}
	}
	all := p.Runs() / p.Repeats
	line := fmt.Sprintf("%s in %s", screen.Count(p.Runs(), "run"), screen.Count(p.Repeats, "round"))
	total := known.Seconds() * float64(p.Repeats)
	switch {
	case runs == 0:
		line += "; how long they take is known once some ran"
	case runs < all:
		line += fmt.Sprintf(", %s at least: how long some take is known once they ran", about(total))
	default:
		line += ", " + about(total)
	}
	if p.Budget.Time > 0 {
		line += fmt.Sprintf("; the budget is %s", p.Budget.Time)
	}
	if p.RunTimeout > 0 {
		line += fmt.Sprintf("; a run may take %s", p.RunTimeout)
	}
	return []string{line + "."}
}

// about rounds a forecast to a suitable unit.
func about(seconds float64) string {
	const minute, hour, day = 60, 3600, 24 * 3600
	switch {
	case seconds < minute:
		return fmt.Sprintf("about %.0f s", seconds)
	case seconds < 2*hour:
		return fmt.Sprintf("about %.0f min", seconds/minute)
	case seconds < 3*day:
		return fmt.Sprintf("about %.1f h", seconds/hour)
	default:
		return fmt.Sprintf("about %.0f days", seconds/day)
	}
}

// proofLines warns if the plan has so few runs that they can prove little or nothing.
func proofLines(p *sweep.Plan) []string {
	comparisons := len(p.Running()) - 1
	fewest := judge.Fewest(2*comparisons - 1) // the baseline and the winner are each compared with every other cell
	if comparisons < 1 || p.Repeats >= fewest {
		return nil
	}
	runs, of := screen.Count(p.Repeats, "run"), screen.Count(comparisons, "comparison")
	if p.Repeats < judge.FewestRounds {
		return []string{
			fmt.Sprintf("%s of each cell cannot prove any of %s with the baseline, however large the difference: this needs --repeats %d.",
				runs, of, fewest),
		}
	}
	return []string{
		fmt.Sprintf("%s of each cell prove little in %s with the baseline: a difference of five times the noise takes --repeats %d.",
			runs, of, fewest),
	}
}

func warningLines(p *sweep.Plan) []string {
	lines := make([]string, len(p.Warnings))
	for i, w := range p.Warnings {
		lines[i] = "warning: " + w
	}
	return lines
}

// differenceLines states how the plan differs from the sweep in dir. It returns nothing if dir has no sweep.
func differenceLines(p *sweep.Plan, dir string) []string {
	if dir == "" || !sweep.IsSweep(dir) {
		return nil
	}
	recorded, err := sweep.Read(dir)
	if err != nil {
		return []string{"warning: " + err.Error()}
	}
	var lines []string
	for _, line := range recorded.Compare(p).Lines() {
		lines = append(lines, fmt.Sprintf("other than the sweep in %s: %s", quote.Word(dir), line))
	}
	return lines
}
