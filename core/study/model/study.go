// Package model is recorded runs as a matrix: cells, the runs of each, and the value that each run has. It judges
// nothing: package verdict does that, and package words says it.
package model

import (
	"cmp"
	"slices"
	"time"

	"github.com/psbench/psbench/core/record/result"
)

// Measured are the cells that have runs of their own.
func (s *Study) Measured() []*Cell {
	var out []*Cell
	for _, c := range s.Cells {
		if c.Same == "" && len(c.Runs) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// AllRuns are those of all cells, the A/A cell's last.
func (s *Study) AllRuns() []*Run {
	var runs []*Run
	for _, c := range s.All() {
		runs = append(runs, c.Runs...)
	}
	return runs
}

// EqualBut says whether two cells have the same place on every axis but one.
func (c *Cell) EqualBut(other *Cell, at int) bool {
	for i, value := range c.Values {
		if i != at && value != other.Values[i] {
			return false
		}
	}
	return true
}

// Study is the runs of a sweep, or of folders and files that were given together.
type Study struct {
	Name string // what it was read from: a folder of a sweep, or several
	// Title is what a page calls it: of a path the last part.
	Title string
	Axes  []Axis
	// Cells are in the order of the plan: the last axis changes fastest. Those that were skipped,
	// failed or are waiting are among them.
	Cells []*Cell
	// Baseline is the place in Cells of what the others are compared with.
	Baseline int
	// Again is the A/A cell, the baseline measured once more, or nil.
	Again *Cell
	// Warnings are one sentence each.
	Warnings []string
	// Metric is what its cells are compared by, "" for the throughput.
	Metric string
	// Seed is that of the random order of a sweep, and of what is random in judging it.
	Seed uint64
	// Within is the axis along which nothing is compared: of psbench comm that of the sizes, "" of all others.
	Within string
	// Begun is how many rounds the sweep had before --extend added some, 0 if it never did.
	Begun int
	// MostFailed is the share of failed runs, from 0 to 1, above which a cell cannot win; nil is
	// DefaultMostFailed.
	MostFailed *float64
	// InRounds says that the runs were made in rounds, each cell's once in each. Comparisons are within rounds then.
	InRounds bool
	// Folder is that of the sweep, "" of runs that were given together.
	Folder string

	next map[int]time.Time // when a round of the baseline after this one began
}

// Axis is a configuration value, or some that change together, that differs between cells.
type Axis struct {
	Name   string
	Values []string
}

// Cell is one point of the matrix.
type Cell struct {
	// ID is the same wherever the same experiment is run by the same binaries.
	ID   string
	Name string // its values on the axes that have several, e.g. "server=average ntrainer=2"
	// Values are its places on the axes of the study.
	Values []string
	// Config is the effective configuration of its runs, as far as it makes an experiment of its own: no
	// seed, no outputs, no build. It is nil without a run.
	Config map[string]string
	// Same is the cell, before this one in the order of the plan, whose experiment this is too: its
	// runs are that one's. "" of a cell that runs itself.
	Same string
	// Skipped says why it is not run, "" if it is.
	Skipped string
	// Waiting is how many of its runs are still to come.
	Waiting int
	Runs    []*Run // that are done, in the order of their rounds
	Failed  []Failure
	// Repeated is how often runs failed that came to their end when they were repeated.
	Repeated int

	// Unseen is what it left out of its data, by the metric by which that is to be told.
	Unseen map[string]Unseen
}

// Run is one execution that came to its end.
type Run struct {
	Folder  string // or file
	Round   int
	Started time.Time
	Seed    uint64
	// Values are its metrics by name; what the run has nothing of is not in it.
	Values map[string]float64
	// Iterations are counted on each set of trainers that wait for each other, and added.
	Iterations int
	// Straggler is nil where nobody waits for another.
	Straggler *Straggler
	// BoundMS is how wrong times may be for the clocks of several hosts, such as those that trainers wait; 0 on
	// one host.
	BoundMS float64
	// Seen is how much of its data it trained on.
	Seen Seen
	// Silent says that its trainers exchanged nothing.
	Silent bool
	// Epochs are what each epoch led to, where the model was evaluated after it.
	Epochs []Epoch
	// Warnings are what the run itself said, and what its iterations show.
	Warnings    []string
	Environment result.Environment
	// Checks is what was recomputed of it, nil without --check.
	Checks *result.Checks
	// Plugins are the programs that ran.
	Plugins []result.Plugin
	// Facts are what its parts reported.
	Facts map[string]string
}

// Differences are those of what two runs ran in, and of the programs.
func (r *Run) Differences(to *Run) []result.Difference {
	return result.Differences(&result.Result{Environment: r.Environment, Plugins: r.Plugins},
		&result.Result{Environment: to.Environment, Plugins: to.Plugins})
}

// Epoch is what training had led to after an epoch, from the start of the measured pass.
type Epoch struct {
	// Seconds of training; those of evaluations are no part of them.
	Seconds float64
	// Bytes of gradients that all trainers handed to their hooks.
	Bytes float64
	// Values are held_out_loss, held_out_accuracy and held_out_auc, as far as there are any.
	Values map[string]float64
}

// Failure is a run that did not come to its end.
type Failure struct {
	Folder string
	Round  int
	Reason string
}

// Of are the values of a metric, a run each, of those runs that have it, in the order of the rounds.
func (c *Cell) Of(metric string) []float64 {
	var values []float64
	for _, r := range c.Runs {
		if v, ok := r.Values[metric]; ok {
			values = append(values, v)
		}
	}
	return values
}

// All are the cells, and the A/A cell last.
func (s *Study) All() []*Cell {
	if s.Again == nil {
		return s.Cells
	}
	return append(s.Cells[:len(s.Cells):len(s.Cells)], s.Again)
}

// Counts are how many runs of all cells came to their end, failed, and are still to come.
func (s *Study) Counts() (done, failed, waiting int) {
	for _, c := range s.All() {
		done, failed, waiting = done+len(c.Runs), failed+len(c.Failed), waiting+c.Waiting
	}
	return done, failed, waiting
}

// Resolved is the cell whose runs a cell has: its own, or those of the one whose experiment it is too.
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

// Explains says whether a difference between environments is one that cells do not make themselves, and
// that does not come and go.
func (s *Study) Explains(name string) bool {
	if Passing(name) || name == "BLAS" {
		return false
	}
	build := slices.ContainsFunc(s.Axes, func(a Axis) bool { return a.Name == buildKey })
	return !build || !slices.Contains([]string{"psbench", "commit", "Go"}, name)
}

// Passing says whether a difference is of what is measured anew before or in each run, and comes and goes.
func Passing(name string) bool {
	return slices.Contains([]string{"load before", "load at the end", "other processes' CPU time", "steal",
		"bandwidth of memory", "step of the clock"}, name)
}

// OneRun says that the study is of a single run. Nothing is compared then, and nobody is told of cells.
func (s *Study) OneRun() bool {
	return len(s.Cells) == 1 && s.Again == nil && s.Cells[0].OfOneRun()
}

// OfOneRun says that the cell has a single run, be it done, failed or still to come.
func (c *Cell) OfOneRun() bool { return len(c.Runs)+len(c.Failed)+c.Waiting == 1 }

// NameOf is what a cell is called. The only run is called as the study is.
func (s *Study) NameOf(c *Cell) string {
	if s.OneRun() {
		return cmp.Or(s.Title, s.Name)
	}
	return c.Name
}
