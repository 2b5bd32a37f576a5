package sweep

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/psbench/psbench/internal/splitmix"
)

// AgainID stands for the ID of the A/A cell.
const AgainID = "again"

// SeedKey is the option whose value round r adds r to.
const SeedKey = "torch_seed"

// Turn is one run of the plan.
type Turn struct {
	Cell   int  // a place in Cells
	Again  bool // it is the A/A cell's, of which Cell is the baseline
	Round  int
	Seed   uint64 // of the run
	Folder string // of the run, in that of the sweep: "runs/ID/ROUND"
	id     string
}

// ID is the name of the run in journals: "ID/ROUND", or "again/ROUND".
func (t Turn) ID() string { return t.id + "/" + strconv.Itoa(t.Round) }

// Turns are the runs of a round, every cell's once, in an order that is random but a pure function of
// the plan's seed and the round.
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

// round are the runs that every round has, in the order of the cells.
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

// seed is that of the cell's runs in round 0.
func (c Cell) seed() uint64 {
	n, _ := c.Config[SeedKey].(json.Number)
	seed, err := strconv.ParseUint(string(n), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("cell %s of a plan that was never checked has the seed %v", c.Name, c.Config[SeedKey]))
	}
	return seed
}
