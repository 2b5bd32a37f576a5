// Package model presents recorded runs as a matrix of cells, with the runs of each cell and the values of each run. It
// judges nothing: package verdict judges the runs, and package words describes the result.
package model

import (
	"cmp"
	"slices"
	"time"

	"github.com/psbench/psbench/core/record/result"
)

// Measured returns the cells that have runs of their own.
func (s *Study) Measured() []*Cell {
	var out []*Cell
	for _, c := range s.Cells {
		if c.Same == "" && len(c.Runs) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// AllRuns returns the runs of all cells. The runs of the A/A cell come last.
func (s *Study) AllRuns() []*Run {
	var runs []*Run
	for _, c := range s.All() {
		runs = append(runs, c.Runs...)
	}
	return runs
}

// EqualBut reports whether two cells have the same value on every axis except the one at index at.
func (c *Cell) EqualBut(other *Cell, at int) bool {
	for i, value := range c.Values {
		if i != at && value != other.Values[i] {
			return false
		}
	}
	return true
}

// Study holds the runs of a sweep, or of folders and files that the user gave together.
type Study struct {
	Name string // source of the study: a sweep, a path, or a number of runs
	// Title is the heading on a page. If the study was read from one path, the title is the path's last part.
	Title string
	Axes  []Axis
	// Cells are in the order of the plan: the last axis changes fastest. They include cells that were skipped, failed
	// or are still waiting.
	Cells []*Cell
	// Baseline is the index in Cells of the cell to compare the others with.
	Baseline int
	// Again is the A/A cell, which measures the baseline a second time, or nil.
	Again *Cell
	// Warnings holds one sentence for each warning.
	Warnings []string
	// Metric is the metric by which the cells are compared; "" means the throughput.
	Metric string
	// Seed determines the random order of a sweep and the random draws of its judgement.
	Seed uint64
	// Within is the axis that comparisons must not cross: the sizes for psbench comm, "" otherwise.
	Within string
	// Begun is the number of rounds before --extend added some, or 0 if the sweep was never extended.
	Begun int
	// MostFailed is a share from 0 to 1. A cell with a larger share of failed runs cannot win. nil means
	// verdict.DefaultMostFailed.
	MostFailed *float64
	// InRounds is true if the runs were made in rounds, each with one run of each cell. Comparisons are then made
	// within rounds.
	InRounds bool
	// Folder is the folder of the sweep, or "" if the user gave the runs together.
	Folder string

	next map[int]time.Time // start of the first later round of the baseline, by round
}

// Axis is a configuration value that differs between cells, or several values that change together.
type Axis struct {
	Name   string
	Values []string
}

// Cell is one point of the matrix.
type Cell struct {
	// ID is equal wherever the same binaries run the same experiment.
	ID   string
	Name string // its values on the axes that have several, e.g. "server=average ntrainer=2"
	// Values holds its value on each axis of the study.
	Values []string
	// Config is the effective configuration of the cell's runs, without seed, outputs and build. It holds only settings
	// that distinguish experiments. It is nil if the cell has no runs.
	Config map[string]string
	// Same is the ID of an earlier cell with the same experiment, which holds the runs. It is "" if the cell has its
	// own runs.
	Same string
	// Skipped is the reason why the cell does not run, or "" if it runs.
	Skipped string
	// Waiting is the number of its runs that are still to come.
	Waiting int
	Runs    []*Run // finished runs, in the order of their rounds
	Failed  []Failure
	// Repeated is the number of failed attempts of runs that later completed.
	Repeated int

	// Unseen holds, by metric, the data that the cell left out and that a report must mention.
	Unseen map[string]Unseen
}

// Run is one completed execution.
type Run struct {
	Folder  string // folder or file of the run
	Round   int
	Started time.Time
	Seed    uint64
	// Values holds the metrics of the run by name. A metric without a value has no entry.
	Values map[string]float64
	// Iterations is the number of iterations, added up over all sets of trainers that wait for each other.
	Iterations int
	// Straggler is nil if no trainer waits for another.
	Straggler *Straggler
	// BoundMS is the largest error, in ms, of straggler waits and other times that compare the clocks of several hosts.
	// It is 0 on one host.
	BoundMS float64
	Seen    Seen
	// Silent is true if the trainers of the run exchanged no data.
	Silent bool
	// Epochs holds the state after each evaluated epoch.
	Epochs []Epoch
	// Warnings holds the warnings of the run and of its iterations.
	Warnings    []string
	Environment result.Environment
	// Checks holds the results of --check, or nil without it.
	Checks *result.Checks
	// Plugins lists the plugin programs that ran.
	Plugins []result.Plugin
	// Facts holds values that the parts of the run reported, by name.
	Facts map[string]string
}

// Differences returns the differences in environment and programs between two runs.
func (r *Run) Differences(to *Run) []result.Difference {
	return result.Differences(&result.Result{Environment: r.Environment, Plugins: r.Plugins},
		&result.Result{Environment: to.Environment, Plugins: to.Plugins})
}

// Epoch is the state of training at the end of an epoch. Its amounts count from the start of the measured pass.
type Epoch struct {
	// Seconds is the time spent on training, without evaluations.
	Seconds float64
	// Bytes is the size of all gradients that the trainers handed to their hooks.
	Bytes float64
	// Values holds held_out_loss, held_out_accuracy and held_out_auc if the evaluation measured them.
	Values map[string]float64
}

// Failure is a run that did not complete.
type Failure struct {
	Folder string
	Round  int
	Reason string
}

// Of returns the values of a metric in the order of the rounds. Runs without the metric are left out.
func (c *Cell) Of(metric string) []float64 {
	var values []float64
	for _, r := range c.Runs {
		if v, ok := r.Values[metric]; ok {
			values = append(values, v)
		}
	}
	return values
}

// All returns all cells. The A/A cell comes last.
func (s *Study) All() []*Cell {
	if s.Again == nil {
		return s.Cells
	}
	return append(s.Cells[:len(s.Cells):len(s.Cells)], s.Again)
}

// Counts returns how many runs of all cells are done, have failed, and are still waiting.
func (s *Study) Counts() (done, failed, waiting int) {
	for _, c := range s.All() {
		done, failed, waiting = done+len(c.Runs), failed+len(c.Failed), waiting+c.Waiting
	}
	return done, failed, waiting
}

// Resolved returns the cell that holds the runs of c: c itself, or the earlier cell with the same experiment.
func (s *Study) Resolved(c *Cell) *Cell {
	if c.Same != "" {
		for _, other := range s.Cells {
			if other.ID == c.Same && other.Same == "" {
				return other
			}
		}
	}
	return c
}

// Explains reports whether a difference between environments could explain a difference between cells. It is false for
// differences that the cells make themselves and for differences that come and go.
func (s *Study) Explains(name string) bool {
	if Passing(name) || name == "BLAS" {
		return false
	}
	build := slices.ContainsFunc(s.Axes, func(a Axis) bool { return a.Name == buildKey })
	return !build || !slices.Contains([]string{"psbench", "commit", "Go"}, name)
}

// Passing reports whether a difference comes and goes because each run measures the value anew.
func Passing(name string) bool {
	return slices.Contains([]string{"load before", "load at the end", "other processes' CPU time", "steal",
		"bandwidth of memory", "step of the clock"}, name)
}

// OneRun reports whether the study has a single run. Such a study compares nothing and does not mention cells.
func (s *Study) OneRun() bool {
	return len(s.Cells) == 1 && s.Again == nil && s.Cells[0].OfOneRun()
}

// OfOneRun reports whether the cell has a single run, whether done, failed or still to come.
func (c *Cell) OfOneRun() bool { return len(c.Runs)+len(c.Failed)+c.Waiting == 1 }

// NameOf returns the name to show for a cell. If the study has only one run, NameOf returns the study's title.
func (s *Study) NameOf(c *Cell) string {
	if s.OneRun() {
		return cmp.Or(s.Title, s.Name)
	}
	return c.Name
}
