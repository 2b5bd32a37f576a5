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

// loadSweep reads the folder of a sweep, whether or not it has come to its end.
func (l *Loader) loadSweep(dir string) (*Study, error) {
	plan, err := sweep.Read(dir)
	if err != nil {
		return nil, err
	}
	s := planned(plan)
	s.Folder, s.Name = dir, quote.Word(cmp.Or(plan.Name, filepath.Base(dir)))
	s.Title = s.Name
	events, err := journal.Read(filepath.Join(dir, "journal"))
	if err != nil { // and the folders speak for themselves
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
			fmt.Sprintf("%s failed, %s in all, and came to an end when repeated: the values are those of the repetition, and the failures count",
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
	for i, t := range turns { // of each cell in the order of the rounds
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

// leaveOut takes from the runs the warnings that the plan has, each with how many cells it is of.
func (s *Study) leaveOut(planned []string) {
	for _, r := range s.AllRuns() {
		r.Warnings = slices.DeleteFunc(r.Warnings, func(text string) bool {
			return slices.ContainsFunc(planned, func(p string) bool { return strings.HasPrefix(p, text+" (in ") })
		})
	}
}

// planned is a study whose runs are yet to come.
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

// repeated is how often runs failed that are done now, by run.
func repeated(events []journal.Event, states map[string]journal.Run) map[string]int {
	failed := map[string]int{}
	for _, e := range events {
		if e.State == journal.Failed && states[e.Run].State == journal.Done {
			failed[e.Run]++
		}
	}
	return failed
}

// times is "once", "twice" or "3 times".
func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// apart says which rounds were run by several hosts, "" if none: one was lost, or the sweep went on elsewhere, and what
// is done is not run again.
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
	return fmt.Sprintf("several hosts ran parts of round %s: how these differ is in what it compares",
		strings.Join(rounds, ", "))
}

// end is what became of a turn: a run, a failure, or neither while it waits.
type end struct {
	run    *Run
	config map[string]string
	reason string
}

// endOf looks at a turn's folder, unless the journal says that it failed. A folder that is complete
// counts where the journal is lost or its last line is.
func endOf(dir string, t sweep.Turn, state journal.Run) end {
	path := filepath.Join(dir, t.Folder)
	switch state.State {
	case journal.Failed:
		return end{reason: cmp.Or(quote.Message(state.Reason), "nothing says why")}
	case journal.Done:
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return end{} // who removes a folder wants it to run again
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

// note counts what became of a turn.
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
