package model

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/core/study/sweep/journal"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// loadSweep reads the folder of a sweep, finished or not.
func (l *Loader) loadSweep(dir string) (*Study, error) {
	plan, err := sweep.Read(dir)
	if err != nil {
		return nil, err
	}
	s := planned(plan)
	s.Folder, s.Name = dir, quote.Word(cmp.Or(plan.Name, filepath.Base(dir)))
	s.Title = s.Name
	events, err := journal.Read(filepath.Join(dir, "journal"))
	if err != nil { // without the journal, the folders show which runs are done
		s.Warnings = append(s.Warnings, err.Error())
	}
	states := journal.Runs(events)
	failures := repeated(events, states)
	if n := len(failures); n > 0 {
		attempts := 0
		for _, k := range failures {
			attempts += k
		}
		s.Warnings = append(s.Warnings,
			fmt.Sprintf("%s failed, %s in all, and completed when repeated: the values are from the repetition, and the failures count",
				screen.Count(n, "run"), times(attempts)))
	}
	if warning := apart(events); warning != "" {
		s.Warnings = append(s.Warnings, warning)
	}
	var turns []sweep.Turn
	for round := range plan.Repeats {
		turns = append(turns, plan.Turns(round)...)
	}
	ends := make([]end, len(turns))
	Each(len(turns), func(i int) error {
		ends[i] = l.endOf(dir, turns[i], states[turns[i].ID()])
		return nil
	})
	for i, t := range turns { // each cell gets its runs in the order of the rounds
		c := s.Cells[t.Cell]
		if t.Again {
			c = s.Again
		}
		c.note(t, ends[i])
		c.Repeated += failures[t.ID()]
	}
	s.leaveOut(plan.Warnings)
	return s, nil
}

// leaveOut removes the warnings of the plan from the runs. The plan already has each warning, with the number of cells
// that it concerns.
func (s *Study) leaveOut(planned []string) {
	for _, r := range s.AllRuns() {
		r.Warnings = slices.DeleteFunc(r.Warnings, func(text string) bool {
			return slices.ContainsFunc(planned, func(p string) bool { return strings.HasPrefix(p, text+" (in ") })
		})
	}
}

// planned returns the study of a plan, without runs.
func planned(p *sweep.Plan) *Study {
	s := &Study{InRounds: true, Baseline: p.Baseline, Seed: p.Seed, Metric: p.Metric, Warnings: p.Warnings,
		Begun: p.Begun}
	for _, a := range p.Axes {
		s.Axes = append(s.Axes, Axis(a))
	}
	for _, c := range p.Cells {
		s.Cells = append(s.Cells, &Cell{ID: c.ID, Name: c.Name, Values: c.Values, Same: c.Same, Skipped: c.Skipped})
	}
	if p.Again {
		b := p.Cells[p.Baseline]
		s.Again = &Cell{ID: sweep.AgainID, Name: b.Name, Values: b.Values}
	}
	return s
}

// repeated returns, for each completed run, how often it failed before.
func repeated(events []journal.Event, states map[string]journal.Run) map[string]int {
	failed := map[string]int{}
	for _, e := range events {
		if e.State == journal.Failed && states[e.Run].State == journal.Done {
			failed[e.Run]++
		}
	}
	return failed
}

// times returns "once", "twice" or "3 times".
func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// apart returns a warning with the rounds that ran on several hosts, or "" if there are none. A round runs on several
// hosts if a host was lost, or if the sweep continued elsewhere without repeating completed runs.
func apart(events []journal.Event) string {
	done, hosts := map[string]bool{}, map[int][]string{}
	for _, e := range events {
		round, err := strconv.Atoi(path.Base(e.Run))
		host := e.Host()
		if e.State != journal.Done || done[e.Run] || err != nil || host == "" {
			continue
		}
		done[e.Run] = true
		if !slices.Contains(hosts[round], host) {
			hosts[round] = append(hosts[round], host)
		}
	}
	var rounds []string
	for _, round := range slices.Sorted(maps.Keys(hosts)) {
		if len(hosts[round]) > 1 {
			rounds = append(rounds, fmt.Sprintf("%d (%s)", round, strings.Join(hosts[round], ", ")))
		}
	}
	if len(rounds) == 0 {
		return ""
	}
	return fmt.Sprintf("several hosts ran parts of round %s, so its comparisons include the differences between the hosts",
		strings.Join(rounds, ", "))
}

// end is the outcome of a turn: a run, or a failure. It has neither while the turn waits.
type end struct {
	run    *Run
	config map[string]string
	reason string
}

// endOf reads the outcome of a turn from its folder, unless the journal says that the run failed. A complete folder
// counts even if the journal or its last line is lost.
func endOf(dir string, t sweep.Turn, state journal.Run) end {
	path := filepath.Join(dir, t.Folder)
	switch state.State {
	case journal.Failed:
		return end{reason: cmp.Or(quote.Message(state.Reason), "nothing says why")}
	case journal.Done:
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return end{} // a user who removes a run folder wants the run repeated
		}
	default:
		if status, err := folder.StatusOf(path); err != nil || !status.Complete {
			return end{}
		}
	}
	r, err := folder.Read(path)
	switch {
	case err != nil:
		return end{reason: err.Error()}
	case !r.Complete:
		return end{reason: cmp.Or(quote.Message(r.Error), "it ended early")}
	}
	rec := record(path, r)
	rec.run.Round = t.Round
	return end{run: rec.run, config: rec.experiment()}
}

// note adds the outcome of a turn to the cell.
func (c *Cell) note(t sweep.Turn, e end) {
	switch {
	case e.run != nil:
		c.Runs = append(c.Runs, e.run)
		if c.Config == nil {
			c.Config = e.config
		}
	case e.reason != "":
		c.Failed = append(c.Failed, Failure{Folder: t.Folder, Round: t.Round, Reason: e.reason})
	default:
		c.Waiting++
	}
}
