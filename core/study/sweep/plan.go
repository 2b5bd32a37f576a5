// Package sweep says what a matrix of experiments is to run: a specification of axes becomes a
// plan of cells, checked before anything runs, and the plan is a file that a sweep is held to.
package sweep

//go:generate go test -run TestSchema -update .

import (
	"slices"
	"time"
)

// Plan is all that a sweep will run, checked.
type Plan struct {
	// Identity is the hash of the effective configuration of all cells that run and of the binaries
	// that run them; paths, comments and the order have no part in it.
	Identity string `json:"identity"`
	Name     string `json:"name,omitempty"`
	Axes     []Axis `json:"axes"`
	Cells    []Cell `json:"cells"`
	// Binaries are the files that the cells name.
	Binaries []Binary `json:"binaries"`
	Baseline int      `json:"baseline"` // a place in Cells, of one that runs
	Again    bool     `json:"again"`    // the baseline runs twice in each round: the A/A cell
	Repeats  int      `json:"repeats"`  // rounds; each is a fresh set of processes of every cell
	// Begun is how many rounds there were before more were added, 0 where none were.
	Begun  int    `json:"begun,omitempty"`
	Seed   uint64 `json:"seed"` // of the order within rounds
	Budget Budget `json:"budget"`
	// RunTimeout is the longest time that a run may take, 0 for any.
	RunTimeout time.Duration `json:"run_timeout_ns,omitempty"`
	// Check has every run check what it reduces while it measures.
	Check bool `json:"check"`
	// Hosts are those over which every run goes, a line each as files of hosts have it; none for this host alone.
	Hosts []string `json:"hosts,omitempty"`
	// Metric is what cells are compared by, "" for the throughput.
	Metric   string   `json:"metric,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Axis is a configuration value, or some that change together.
type Axis struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// Cell is one point of the matrix, in the order of the plan: the last axis changes fastest.
type Cell struct {
	// ID is a hash of the effective configuration and the binaries.
	ID     string   `json:"id"`
	Name   string   `json:"name"`   // e.g. "server=average ntrainer=2"
	Values []string `json:"values"` // by axis
	// Same is the ID of a cell before it whose experiment is equal, "" of one that runs itself.
	Same string `json:"same,omitempty"`
	// Skipped says which rule of the world or of the specification forbids it, "" if none.
	Skipped string `json:"skipped,omitempty"`
	// Binary is the psbench that runs it: the absolute path of one of the plan's binaries.
	Binary string `json:"binary,omitempty"`
	// Plugins are the paths of the other binaries that it uses.
	Plugins []string `json:"plugins,omitempty"`
	// Parts are the keys of its parts by kind, whatever the configuration calls them.
	Parts map[string]string `json:"parts,omitempty"`
	// Config is the configuration file of its runs but for the seed: round r has the seed of this plus r.
	Config map[string]any `json:"config,omitempty"`
	// Expected is how long a run of it may take, as far as that can be told before any ran.
	Expected time.Duration `json:"expected_ns,omitempty"`
}

// Runs says whether the cell has runs of its own.
func (c Cell) Runs() bool { return c.Same == "" && c.Skipped == "" }

// Binary is a file that runs cells.
type Binary struct {
	Name   string `json:"name"` // "psbench", a value of the axis build, or "plugin NAME" and its file
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // in hex
}

// Budget ends a sweep early, however often it was begun; zero values are no bounds. Time is that of its runs.
type Budget struct {
	Time     time.Duration `json:"time_ns,omitempty"`
	Failures int           `json:"failures,omitempty"`
}

// Running are the places in Cells of those that have runs of their own.
func (p *Plan) Running() []int {
	var running []int
	for i, c := range p.Cells {
		if c.Runs() {
			running = append(running, i)
		}
	}
	return running
}

// Cell is the place in Cells of the cell with an ID, -1 if there is none.
func (p *Plan) Cell(id string) int {
	return slices.IndexFunc(p.Cells, func(c Cell) bool { return c.ID == id })
}

// Runs is how many runs the plan has.
func (p *Plan) Runs() int { return p.Repeats * len(p.round()) }
