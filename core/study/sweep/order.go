package sweep

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/psbench/psbench/internal/splitmix"
)

// AgainID is the ID of the A/A cell in run folders and journals.
const AgainID = "again"

// SeedKey is the option that seeds a run. Round r adds r to the option's value.
const SeedKey = "torch_seed"

// Turn is one run of the plan.
type Turn struct {
	Cell   int  // index in Cells
	Again  bool // whether the A/A cell runs; Cell is then the baseline
	Round  int
	Seed   uint64 // seed of the run
	Folder string // run folder, relative to the sweep folder: "runs/ID/ROUND"
	id     string
}

// ID returns the run's name in journals: "ID/ROUND", or "again/ROUND".
func (t Turn) ID() string { return t.id + "/" + strconv.Itoa(t.Round) }

// Turns returns the runs of a round, one for each cell, in random order. The order depends only on the plan's seed and
// the round.
func (p *Plan) Turns(round int) []Turn {
	turns := p.round()
	stream := splitmix.New(p.Seed, uint64(round)) // #nosec G115 -- not negative
	for i := len(turns) - 1; i > 0; i-- {
		j := int(stream.Uint64() % uint64(i+1)) // #nosec G115 -- at most i
		turns[i], turns[j] = turns[j], turns[i]
	}
	for i := range turns {
		t := &turns[i]
		t.Round, t.Seed = round, p.Cells[t.Cell].seed()+uint64(round) // #nosec G115 -- not negative
		t.Folder = filepath.Join("runs", t.id, strconv.Itoa(round))
	}
	return turns
}

// round returns the runs of each round, in the order of the cells.
func (p *Plan) round() []Turn {
	var turns []Turn
	for _, i := range p.Running() {
		turns = append(turns, Turn{Cell: i, id: p.Cells[i].ID})
	}
	if p.Again {
		turns = append(turns, Turn{Cell: p.Baseline, Again: true, id: AgainID})
	}
	return turns
}

// seed returns the seed of the cell's run in round 0.
func (c Cell) seed() uint64 {
	n, _ := c.Config[SeedKey].(json.Number)
	seed, err := strconv.ParseUint(string(n), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("cell %s of a plan that was never checked has the seed %v", c.Name, c.Config[SeedKey]))
	}
	return seed
}
