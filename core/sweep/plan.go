// Package sweep runs matrices of experiments: a specification of axes becomes a plan of cells,
// and the plan becomes a folder of runs that a journal accounts for.
package sweep

import "time"

// Plan is all that a sweep will run, checked.
type Plan struct {
	// Identity is the hash of the effective configuration of all cells and of the binaries that
	// run them; paths and comments have no part in it.
	Identity string
	Axes     []Axis
	Cells    []Cell
	Baseline int    // a place in Cells
	Again    bool   // the baseline runs twice in each round: the A/A cell
	Repeats  int    // rounds; each is a fresh set of processes of every cell
	Seed     uint64 // of the order within rounds
	Budget   Budget
	// Check has every run check what it reduces while it measures.
	Check    bool
	Warnings []string
}

// Axis is a configuration value, or some that change together.
type Axis struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// Cell is one point of the matrix, in the order of the plan: the last axis changes fastest.
type Cell struct {
	// ID is a hash of the effective configuration and the binaries.
	ID     string
	Name   string   // e.g. "server=average ntrainer=2"
	Values []string // by axis
	// Same is the ID of a cell before it whose experiment is equal, "" of one that runs itself.
	Same string
	// Skipped says which rule of the world or of the specification forbids it, "" if none.
	Skipped string
	// Binary is the psbench that runs it: an absolute path.
	Binary string
	// Config is the configuration file of its runs but for the seed: round r has the seed of this plus r.
	Config map[string]any
	// Expected is how long a run of it may take, as far as that can be told before any ran.
	Expected time.Duration
}

// Budget ends a sweep early; zero values are no bounds.
type Budget struct {
	Time     time.Duration
	Failures int
}
