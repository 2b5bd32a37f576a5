package view

import (
	"maps"
	"slices"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
)

// addRuns adds the completed runs, cell by cell, and their environments.
func (m *maker) addRuns() {
	environments := environments{}
	for i, c := range m.cells {
		for _, r := range c.Runs {
			m.places[r] = len(m.doc.Runs)
			m.doc.Runs = append(m.doc.Runs, Run{
				Folder: m.name(r.Folder), Cell: i, Round: r.Round, Started: r.Started, Seed: r.Seed,
				Values:     pointers(r.Values),
				Iterations: r.Iterations, Straggler: (*Straggler)(r.Straggler), Epochs: epochsOf(r),
				Warnings:    r.Warnings,
				Environment: environments.place(r), Detail: -1,
			})
		}
	}
	m.doc.Environments = environments.list
}

func epochsOf(r *model.Run) []Epoch {
	var epochs []Epoch
	for i, e := range r.Epochs {
		epochs = append(epochs, Epoch{i + 1, e.Seconds, e.Bytes, pointers(e.Values)})
	}
	return epochs
}

// pointers returns pointers to the values. Later, tidy turns values that are not finite into null.
func pointers(values map[string]float64) map[string]*float64 {
	out := map[string]*float64{}
	for name, v := range values {
		out[name] = &v
	}
	return out
}

// addCells adds the cells. The A/A cell comes last.
func (m *maker) addCells() {
	barred := verdict.Barred(m.study, m.metric)
	for _, c := range m.cells {
		cell := Cell{
			ID: c.ID, Name: m.study.NameOf(c), Again: c == m.study.Again, Values: c.Values, Reason: c.Skipped, Same: -1,
			Waiting: c.Waiting, Warnings: verdict.Notes(m.study, c, m.metric.Name),
			Shorts:      verdict.Shorts(m.study, c, m.metric.Name, barred),
			Environment: -1, Median: -1, Worst: -1,
		}
		cell.State = stateOf(c)
		if c.Same != "" {
			cell.Same = slices.IndexFunc(m.study.Cells,
				func(o *model.Cell) bool { return o.ID == c.Same && o.Same == "" })
		}
		for _, r := range c.Runs {
			cell.Runs = append(cell.Runs, m.places[r])
		}
		if len(cell.Runs) > 0 {
			cell.Environment = m.doc.Runs[cell.Runs[0]].Environment
		}
		for _, f := range c.Failed {
			cell.Failed = append(cell.Failed, Failure{Folder: m.name(f.Folder), Round: f.Round, Reason: f.Reason})
		}
		if len(c.Failed) > 0 {
			cell.Reason = c.Failed[0].Reason
		}
		m.doc.Cells = append(m.doc.Cells, cell)
	}
}

func stateOf(c *model.Cell) string {
	done, failed := len(c.Runs) > 0, len(c.Failed) > 0
	switch {
	case c.Skipped != "":
		return Skipped
	case c.Same != "":
		return Same
	case done && !failed && c.Waiting == 0:
		return Done
	case failed && !done && c.Waiting == 0:
		return Failed
	case done || failed:
		return Partial
	}
	return Waiting
}

// chosen returns a cell's run with the median value and its worst run. Of two middle values it takes the lower one.
// If no run has a value, both are the first run. Without runs both are nil.
func (m *maker) chosen(c *model.Cell) (median, worst *model.Run) {
	if len(c.Runs) == 0 {
		return nil, nil
	}
	name := m.metric.Name
	valued := slices.DeleteFunc(slices.Clone(c.Runs),
		func(r *model.Run) bool { v, ok := r.Values[name]; return !ok || v != v })
	if len(valued) == 0 {
		return c.Runs[0], c.Runs[0]
	}
	slices.SortStableFunc(valued, func(a, b *model.Run) int {
		switch x, y := a.Values[name], b.Values[name]; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	worst = valued[0]
	if m.metric.Better == model.Lower {
		worst = valued[len(valued)-1]
	}
	return valued[(len(valued)-1)/2], worst
}

// factsOf returns the entries sorted by name.
func factsOf(entries map[string]string) []Fact {
	var facts []Fact
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		facts = append(facts, Fact{name, entries[name]})
	}
	return facts
}
