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
)

// ranks are the processes of one transport. Those of the transports that have no
// turn sleep.
type ranks struct {
	fabric   *fabric.Fabric
	trainers []*process
	servers  []*process // none without push-pull
	parts    []*process // the companions of those whose server or hook speaks the protocol
	round    int64      // number of the next round: batches of a bucket rise
}

// process is one of them.
type process struct {
	*cluster.Member
	ranks  *ranks
	rank   int
	serves bool     // it is a server, or the part of one; the others measure
	part   *process // the companion with its server or hook; nil if it holds that itself
	// asked is a second server in a companion. It says what the serving one must answer; nil unless it is asked.
	asked *process
	host  *process // of a companion: the process that calls it
}

// newRanks makes those of a transport, with a suffix to their names.
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

// beside makes a companion of a process.
func (p *process) beside(suffix string, plugin registry.Plugin, title string, serves bool) *process {
	part := &process{Member: &cluster.Member{Name: p.Name + suffix, Plugin: plugin, Part: title, Protocol: true,
		Host: p.Name}, ranks: p.ranks, rank: p.rank, serves: serves, host: p}
	part.Env = part.environment
	p.ranks.parts = append(p.ranks.parts, part)
	return part
}

func (r *ranks) processes() []*process { return slices.Concat(r.trainers, r.servers, r.parts) }

// environment gives each trainer, and what computes in a companion, its share of the cores, unless
// the user says otherwise.
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

// timings are what one rank measured in a turn.
type timings struct {
	latenciesUS []float64 // one per round
	mismatch    string    // the first value that is not what it should be
	unchecked   string    // why no value was compared, if a part could not say what it should be
}

// turn is some rounds of a row.
type turn struct {
	rounds      int
	latenciesUS []float64 // rank by rank
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
