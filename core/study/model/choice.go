package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/psbench/psbench/core/study/sweep"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/spelling"
)

// Choice selects one run of a sweep.
type Choice struct {
	Cell  string // values or ID of the cell; "" if the sweep has only one
	Round int    // round of the run; -1 for the run with the median value
}

// ChoiceError reports a Choice of a cell that the sweep does not have.
type ChoiceError struct{ error }

// Of returns the folder of the chosen run of the sweep in dir. It returns an error if the cell was skipped or has no
// such completed run, and a ChoiceError if the sweep has no such cell.
func (c Choice) Of(dir string) (string, error) {
	s, err := Load([]string{dir})
	if err != nil {
		return "", err
	}
	cell, err := c.find(s)
	if err != nil {
		return "", err
	}
	if cell.Skipped != "" {
		return "", fmt.Errorf("cell %s of %s was skipped: %s", quote.Word(cell.Name), quote.Word(dir),
			quote.Message(cell.Skipped))
	}
	if len(cell.Runs) == 0 {
		return "", fmt.Errorf("cell %s of %s has no completed run", quote.Word(cell.Name), quote.Word(dir))
	}
	if c.Round < 0 {
		return medianRun(cell.Runs, s.Metric).Folder, nil
	}
	if i := slices.IndexFunc(cell.Runs, func(r *Run) bool { return r.Round == c.Round }); i >= 0 {
		return cell.Runs[i].Folder, nil
	}
	return "", fmt.Errorf("cell %s of %s has no round %d that came to its end", quote.Word(cell.Name), quote.Word(dir),
		c.Round)
}

func choicef(format string, args ...any) error { return ChoiceError{fmt.Errorf(format, args...)} }

// find returns the chosen cell. If the cell repeats the experiment of another cell, find returns that cell, which holds
// the runs.
func (c Choice) find(s *Study) (*Cell, error) {
	cells := s.Cells
	if s.Again != nil {
		cells = append(slices.Clone(cells), s.Again)
	}
	if c.Cell == "" && len(s.Cells) == 1 {
		return s.Cells[0], nil
	}
	var names []string
	for _, cell := range cells {
		name := cell.Name
		if cell.ID == sweep.AgainID {
			name = sweep.AgainID
		}
		if c.Cell == name || c.Cell == cell.ID {
			if i := slices.IndexFunc(cells, func(o *Cell) bool { return o.ID == cell.Same }); cell.Same != "" &&
				i >= 0 {
				return cells[i], nil
			}
			return cell, nil
		}
		names = append(names, name)
	}
	if c.Cell == "" {
		return nil, choicef("%s has %d cells: choose one, as in --cell %s", s.Name, len(s.Cells), quote.Shell(names[0]))
	}
	return nil, choicef("unknown cell %s%s", quote.String(c.Cell),
		spelling.Hint(c.Cell, names, "cells", "psbench show shows all"))
}

// medianRun returns the run whose value of the metric is the median. Runs without a value sort last.
func medianRun(runs []*Run, metric string) *Run {
	if metric == "" {
		metric = Throughput
	}
	value := func(r *Run) float64 {
		if v, ok := r.Values[metric]; ok && !math.IsNaN(v) {
			return v
		}
		return math.Inf(1)
	}
	sorted := slices.Clone(runs)
	slices.SortStableFunc(sorted, func(a, b *Run) int {
		switch x, y := value(a), value(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return sorted[(len(sorted)-1)/2]
}
