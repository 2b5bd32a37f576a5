// Package sweep plans a matrix of experiments. It turns a specification of axes into a plan of cells and checks them
// before anything runs. A file stores the plan, and later sessions of the sweep must keep to it.
package sweep

//go:generate go test -run TestSchema -update .

import (
	"slices"
	"time"
)

// Plan is the checked description of everything that a sweep will run.
type Plan struct {
	// Identity is a hash of the effective configurations of all running cells and of their binaries. It does not depend
	// on paths, comments or the order.
	Identity string `json:"identity"`
	Name     string `json:"name,omitempty"`
	Axes     []Axis `json:"axes"`
	Cells    []Cell `json:"cells"`
	// Binaries lists the files that the cells refer to.
	Binaries []Binary `json:"binaries"`
	Baseline int      `json:"baseline"` // index in Cells of a cell that runs
	Again    bool     `json:"again"`    // whether each round also runs the A/A cell, a second run of the baseline
	Repeats  int      `json:"repeats"`  // number of rounds; a round runs every cell once, in fresh processes
	// Begun is the number of rounds before the sweep was extended, or 0 if it was not.
	Begun  int    `json:"begun,omitempty"`
	Seed   uint64 `json:"seed"` // seed of the random order within rounds
	Budget Budget `json:"budget"`
	// RunTimeout is the longest time that a run may take; 0 means no limit.
	RunTimeout time.Duration `json:"run_timeout_ns,omitempty"`
	// Check makes every run check its reductions during the measurement.
	Check bool `json:"check"`
	// Hosts lists the hosts that every run uses, each as a line of a hosts file. If Hosts is empty, runs use only this
	// host.
	Hosts []string `json:"hosts,omitempty"`
	// Metric is the metric for comparing cells; "" means throughput.
	Metric   string   `json:"metric,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Axis is a configuration value that differs between cells, or several values that change together.
type Axis struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// Cell is one point of the matrix. In a plan's cells the last axis changes fastest.
type Cell struct {
	// ID is a hash of the effective configuration and the binaries.
	ID     string   `json:"id"`
	Name   string   `json:"name"`   // e.g. "server=average ntrainer=2"
	Values []string `json:"values"` // labels, one for each axis
	// Same is the ID of an earlier cell with an equal experiment, or "" if this cell has its own runs.
	Same string `json:"same,omitempty"`
	// Skipped is the reason why the cell does not run, or "" if it runs. Rules of the configuration or of the
	// specification can skip a cell.
	Skipped string `json:"skipped,omitempty"`
	// Binary is the absolute path of the psbench that runs the cell. It is listed in the plan's Binaries.
	Binary string `json:"binary,omitempty"`
	// Plugins lists the paths of the other binaries that the cell uses.
	Plugins []string `json:"plugins,omitempty"`
	// Parts holds, for each kind, the key of the cell's part, even if the configuration uses another name. It also
	// holds the arguments of plugins.
	Parts map[string]string `json:"parts,omitempty"`
	// Config is the configuration file of the cell's runs. Round r adds r to its seed.
	Config map[string]any `json:"config,omitempty"`
	// Expected is the estimated duration of a run, or 0 if no estimate is possible before a run.
	Expected time.Duration `json:"expected_ns,omitempty"`
}

// Runs reports whether the cell has its own runs.
func (c Cell) Runs() bool { return c.Same == "" && c.Skipped == "" }

// Binary is a file that cells run.
type Binary struct {
	Name   string `json:"name"` // "psbench", "build FILE" or "plugin NAME FILE"
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // in hex
}

// Budget limits the whole sweep, including every continuation. Zero values mean no limit. Time limits the total time of
// all runs.
type Budget struct {
	Time     time.Duration `json:"time_ns,omitempty"`
	Failures int           `json:"failures,omitempty"`
}

// Running returns the indexes in Cells of the cells that have their own runs.
func (p *Plan) Running() []int {
	var running []int
	for i, c := range p.Cells {
		if c.Runs() {
			running = append(running, i)
		}
	}
	return running
}

// Cell returns the index in Cells of the cell with this ID, or -1 if there is none.
func (p *Plan) Cell(id string) int {
	return slices.IndexFunc(p.Cells, func(c Cell) bool { return c.ID == id })
}

// Runs returns the number of runs in the plan.
func (p *Plan) Runs() int { return p.Repeats * len(p.round()) }
