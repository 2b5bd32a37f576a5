// Package export writes recorded runs for other programs: a row for each run and metric, with the configuration of the
// runs as columns.
package export

import (
	"fmt"
	"maps"
	"slices"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/internal/quote"
)

// Table is the runs of studies as rows.
type Table struct {
	// Variables are the independent variables: axes first, in their order, then all other values of
	// the configuration.
	Variables []string
	Axes      int // how many of Variables are axes
	Rows      []Row
	// Warnings say what is left out.
	Warnings []string
}

// Row is a metric of a run.
type Row struct {
	Run    string // its folder or file
	Cell   string
	Round  int
	Seed   uint64
	Count  int      // of iterations, or rounds, that the value comes of
	Values []string // by Variables; "" where the run has none
	Metric model.Metric
	Value  float64
}

// variable is a name with the value of a run.
type variable struct{ name, value string }

// Add adds the runs of a study that came to their end.
func (t *Table) Add(s *model.Study) {
	t.Warnings = append(t.Warnings, s.Warnings...)
	cells := s.Cells
	if s.Again != nil {
		cells = append(slices.Clone(cells), s.Again)
	}
	for _, a := range s.Axes {
		t.column(a.Name)
	}
	t.Axes = len(t.Variables)
	for _, c := range cells {
		for _, f := range c.Failed {
			t.Warnings = append(t.Warnings,
				fmt.Sprintf("%s is left out, since it failed: %s", quote.Word(f.Folder), quote.Message(f.Reason)))
		}
		if c.Same != "" { // its runs are those of another cell, where they are
			continue
		}
		var variables []variable
		for i, a := range s.Axes {
			variables = append(variables, variable{a.Name, c.Values[i]})
		}
		for _, key := range slices.Sorted(maps.Keys(c.Config)) {
			if !slices.ContainsFunc(variables, func(v variable) bool { return v.name == key }) {
				variables = append(variables, variable{key, c.Config[key]})
			}
		}
		name := c.Name
		if c == s.Again {
			name = sweep.AgainID
		}
		for _, r := range c.Runs {
			row := Row{Run: r.Folder, Cell: name, Round: r.Round, Seed: r.Seed, Count: max(1, r.Iterations),
				Values: t.values(variables)}
			for _, m := range model.Metrics {
				if v, ok := r.Values[m.Name]; ok {
					row.Metric, row.Value = m, v
					t.Rows = append(t.Rows, row)
				}
			}
		}
	}
}

// column is the place of a variable.
func (t *Table) column(name string) int {
	if i := slices.Index(t.Variables, name); i >= 0 {
		return i
	}
	t.Variables = append(t.Variables, name)
	return len(t.Variables) - 1
}

// values puts variables into their places.
func (t *Table) values(variables []variable) []string {
	var values []string
	for _, v := range variables {
		at := t.column(v.name)
		for len(values) <= at {
			values = append(values, "")
		}
		values[at] = v.value
	}
	return values
}

// value is that of a variable in a row.
func (r *Row) value(variable int) string {
	if variable < len(r.Values) {
		return r.Values[variable]
	}
	return ""
}

// Only leaves the rows of these metrics.
func (t *Table) Only(metrics []string) error {
	for _, name := range metrics {
		if _, err := model.MetricOf(name); err != nil {
			return err
		}
	}
	t.Rows = slices.DeleteFunc(t.Rows, func(r Row) bool { return !slices.Contains(metrics, r.Metric.Name) })
	return nil
}

// varying are the variables that are axes, or of which rows have several values.
func (t *Table) varying() []int {
	var places []int
	for i := range t.Variables {
		if i < t.Axes || slices.ContainsFunc(t.Rows, func(r Row) bool { return r.value(i) != t.Rows[0].value(i) }) {
			places = append(places, i)
		}
	}
	return places
}

// metrics are those that rows have, in the order in which they come.
func (t *Table) metrics() []model.Metric {
	var metrics []model.Metric
	for _, r := range t.Rows {
		if !slices.ContainsFunc(metrics, func(m model.Metric) bool { return m.Name == r.Metric.Name }) {
			metrics = append(metrics, r.Metric)
		}
	}
	return metrics
}

// runs are the rows of each run, or of each row of comm, which follow each other.
func (t *Table) runs() [][]Row {
	var runs [][]Row
	for i, r := range t.Rows {
		if i == 0 || r.Run != t.Rows[i-1].Run || !slices.Equal(r.Values, t.Rows[i-1].Values) {
			runs = append(runs, nil)
		}
		last := len(runs) - 1
		runs[last] = append(runs[last], r)
	}
	return runs
}
