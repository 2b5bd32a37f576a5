// Package export writes recorded runs for other programs: a row for each run and metric, with the configuration of
// the runs as columns.
package export

import (
	"fmt"
	"maps"
	"slices"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/internal/quote"
)

// Table holds the runs of studies as rows.
type Table struct {
	// Variables names the independent variables: first the axes in their order, then all other configuration values.
	Variables []string
	Axes      int // number of axes at the start of Variables
	Rows      []Row
	// Warnings states what the table leaves out.
	Warnings []string
}

// Row is one metric of one run.
type Row struct {
	Run    string // folder or file of the run
	Cell   string
	Round  int
	Seed   uint64
	Count  int      // number of iterations or rounds that the value summarizes
	Values []string // in the order of Variables; "" if the run lacks the variable
	Metric model.Metric
	Value  float64
}

// variable is a configuration value of a run, with its name.
type variable struct{ name, value string }

// Add appends the rows of a study's completed runs.
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
		if c.Same != "" { // another cell already lists these runs
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

// column returns the index of a variable. It appends unknown names.
func (t *Table) column(name string) int {
	if i := slices.Index(t.Variables, name); i >= 0 {
		return i
	}
	t.Variables = append(t.Variables, name)
	return len(t.Variables) - 1
}

// values returns the values in the order of the columns.
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

// value returns the value of a variable in a row.
func (r *Row) value(variable int) string {
	if variable < len(r.Values) {
		return r.Values[variable]
	}
	return ""
}

// Only keeps the rows of the given metrics and removes all others.
func (t *Table) Only(metrics []string) error {
	for _, name := range metrics {
		if _, err := model.MetricOf(name); err != nil {
			return err
		}
	}
	t.Rows = slices.DeleteFunc(t.Rows, func(r Row) bool { return !slices.Contains(metrics, r.Metric.Name) })
	return nil
}

// varying returns the indices of variables that are axes or have several values.
func (t *Table) varying() []int {
	var places []int
	for i := range t.Variables {
		if i < t.Axes || slices.ContainsFunc(t.Rows, func(r Row) bool { return r.value(i) != t.Rows[0].value(i) }) {
			places = append(places, i)
		}
	}
	return places
}

// metrics returns the metrics in the order of their first rows.
func (t *Table) metrics() []model.Metric {
	var metrics []model.Metric
	for _, r := range t.Rows {
		if !slices.ContainsFunc(metrics, func(m model.Metric) bool { return m.Name == r.Metric.Name }) {
			metrics = append(metrics, r.Metric)
		}
	}
	return metrics
}

// runs groups consecutive rows of the same run. For psbench comm, it groups them by measured row.
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
