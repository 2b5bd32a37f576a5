// Package sweep plans a matrix of experiments. It turns a specification of axes into a plan of cells and checks them
// before anything runs. The plan is stored in a file, and later sessions of the sweep must keep to it.
package sweep

//go:generate go test -run TestSchema -update .

import (
	"slices"
	"time"
)

// Plan is everything that a sweep will run, checked.
type Plan struct {
	// Identity is the hash of the effective configurations of all running cells and of their binaries. Paths, comments
	// and the order do not affect it.
	Identity string `json:"identity"`
	Name     string `json:"name,omitempty"`
	Axes     []Axis `json:"axes"`
	Cells    []Cell `json:"cells"`
	// Binaries lists the files that the cells name.
	Binaries []Binary `json:"binaries"`
	Baseline int      `json:"baseline"` // index in Cells of a cell that runs
	Again    bool     `json:"again"`    // whether the baseline runs twice in each round: the A/A cell
	Repeats  int      `json:"repeats"`  // number of rounds; a round runs every cell once, in fresh processes
	// Begun is the number of rounds before more were added, 0 if none were added.
	Begun  int    `json:"begun,omitempty"`
	Seed   uint64 `json:"seed"` // seed of the order within rounds
	Budget Budget `json:"budget"`
	// RunTimeout is the longest time that a run may take, 0 for no limit.
	RunTimeout time.Duration `json:"run_timeout_ns,omitempty"`
	// Check makes every run check its reductions while it measures.
	Check bool `json:"check"`
	// Hosts lists the hosts that every run uses, each as a line of a hosts file. If it is empty, runs use this host
	// alone.
	Hosts []string `json:"hosts,omitempty"`
	// Metric is the metric by which cells are compared, "" for throughput.
	Metric   string   `json:"metric,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Axis is a configuration value that differs between cells, or several that change together.
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
	// Same is the ID of an earlier cell with an equal experiment, "" if this cell has runs of its own.
	Same string `json:"same,omitempty"`
	// Skipped is the reason why the cell does not run, "" if it runs. Rules of configurations and of the specification
	// give such reasons.
	Skipped string `json:"skipped,omitempty"`
	// Binary is the absolute path of the psbench that runs the cell. It is one of the plan's binaries.
	Binary string `json:"binary,omitempty"`
	// Plugins lists the paths of the other binaries that the cell uses.
	Plugins []string `json:"plugins,omitempty"`
	// Parts holds the key of the cell's part of each kind, whatever name the configuration gives it, and the arguments
	// of plugins.
	Parts map[string]string `json:"parts,omitempty"`
	// Config is the configuration file of the cell's runs. Round r adds r to its seed.
	Config map[string]any `json:"config,omitempty"`
	// Expected is an estimate of how long a run takes, 0 if only a run can tell.
	Expected time.Duration `json:"expected_ns,omitempty"`
}

// Runs reports whether the cell has runs of its own.
func (c Cell) Runs() bool { return c.Same == "" && c.Skipped == "" }

// Binary is a file that cells run.
type Binary struct {
	Name   string `json:"name"` // "psbench", "build FILE" or "plugin NAME FILE"
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // in hex
}

// Budget ends a sweep early, however often it is continued. Zero values mean no limit. Time is the total of all runs.
type Budget struct {
	Time     time.Duration `json:"time_ns,omitempty"`
	Failures int           `json:"failures,omitempty"`
}

// Running returns the indexes in Cells of the cells with runs of their own.
func (p *Plan) Running() []int {
	var running []int
	for i, c := range p.Cells {
		if c.Runs() {
			running = append(running, i)
		}
	}
	return running
}

// Cell returns the index in Cells of the cell with this ID, -1 if there is none.
func (p *Plan) Cell(id string) int {
	return slices.IndexFunc(p.Cells, func(c Cell) bool { return c.ID == id })
}

// Runs returns the number of runs in the plan.
func (p *Plan) Runs() int { return p.Repeats * len(p.round()) }
