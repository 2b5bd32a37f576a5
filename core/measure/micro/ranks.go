package micro

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/process/cluster"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/sdk"
)

// ranks holds the processes of one transport. They sleep while another transport measures.
type ranks struct {
	fabric   *fabric.Fabric
	trainers []*process
	servers  []*process // empty if no operation uses a server
	parts    []*process // companions that hold a server or hook that speaks the protocol
	round    int64      // number of the next round; a bucket's batch numbers must rise
}

// process is one process of a transport.
type process struct {
	*cluster.Member
	ranks  *ranks
	rank   int
	serves bool     // it is a server or holds a server's part; other processes measure
	part   *process // the companion that holds its server or hook; nil if it has no such companion
	// asked is a companion with a second copy of the server, which computes the expected answers. It is nil unless
	// psbench asks the server.
	asked *process
	host  *process // the process that calls it; nil if it is not a companion
	// traffic is the plan of the hook that the process holds, if the hook plans.
	traffic sdk.Traffic
}

// newRanks creates the processes of a transport. It appends suffix to their names.
func (p *Plan) newRanks(f *fabric.Fabric, suffix string) *ranks {
	r := &ranks{fabric: f}
	newProcess := func(rank int, plugin registry.Plugin, serves bool) *process {
		held, title := p.Server, "server "+p.Server.Key
		if !serves {
			held = config.Part{}
			if p.some(hooked) {
				held, title = p.Hook, "hook "+p.Hook.Key
			}
		}
		q := &process{Member: &cluster.Member{Name: p.World.Name(rank) + suffix, Plugin: plugin, Part: title}, ranks: r,
			rank: rank, serves: serves}
		q.Env = q.environment
		if held.Protocol {
			q.Plugin = registry.Plugin{Name: registry.Builtin}
			q.part = q.beside(".part", held.Plugin, title, serves)
		}
		if !serves && p.Server.Protocol && p.asksServer() {
			q.asked = q.beside(".server", p.Server.Plugin, "server "+p.Server.Key, true)
		}
		return q
	}
	for _, rank := range p.World.TrainerRanks() {
		r.trainers = append(r.trainers, newProcess(rank, p.measuring(), false))
	}
	if !p.serves() {
		return r
	}
	for _, rank := range p.World.ServerRanks() {
		r.servers = append(r.servers, newProcess(rank, p.Server.Plugin, true))
	}
	return r
}

// beside creates a companion of process p.
func (p *process) beside(suffix string, plugin registry.Plugin, title string, serves bool) *process {
	part := &process{Member: &cluster.Member{Name: p.Name + suffix, Plugin: plugin, Part: title, Protocol: true,
		Host: p.Name}, ranks: p.ranks, rank: p.rank, serves: serves, host: p}
	part.Env = part.environment
	p.ranks.parts = append(p.ranks.parts, part)
	return part
}

func (r *ranks) processes() []*process { return slices.Concat(r.trainers, r.servers, r.parts) }

// environment gives each trainer, and each companion that computes, its share of the cores. A value that the user sets
// takes precedence.
func (p *process) environment() (env []string) {
	set := func(name string, among []*process) {
		if _, ok := os.LookupEnv(name); !ok {
			env = append(env, name+"="+strconv.Itoa(cluster.Share(p, among)))
		}
	}
	switch {
	case p.host != nil:
		set("OPENBLAS_NUM_THREADS", p.ranks.parts)
		set("OMP_NUM_THREADS", p.ranks.parts)
	case !p.serves:
		set("GOMAXPROCS", p.ranks.trainers)
	}
	return env
}

// timings holds the measurements of one rank in a turn.
type timings struct {
	latenciesUS []float64 // one per round, in microseconds
	mismatch    string    // the first wrong value
	unchecked   string    // why no value was compared if a part could not state the expected one
}

// turn is a part of the rounds of a row, measured without interruption.
type turn struct {
	rounds      int
	latenciesUS []float64 // rank by rank, in microseconds
	mismatch    string
	unchecked   string
}

func newTurn(rounds int, ranks []timings) (*turn, error) {
	t := &turn{rounds: rounds}
	for rank, r := range ranks {
		if n := len(r.latenciesUS); n != rounds {
			return nil, fmt.Errorf("trainer%d measured %d rounds instead of %d", rank, n, rounds)
		}
		t.latenciesUS = append(t.latenciesUS, r.latenciesUS...)
		if t.mismatch == "" {
			t.mismatch = r.mismatch
		}
		if t.unchecked == "" {
			t.unchecked = r.unchecked
		}
	}
	return t, nil
}
