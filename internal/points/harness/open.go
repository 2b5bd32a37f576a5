package harness

import (
	"fmt"
	"os"
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/hosted"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/server"
	"github.com/psbench/psbench/internal/host/table"
	"github.com/psbench/psbench/internal/host/traffic"
	"github.com/psbench/psbench/internal/points/toys"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
)

// tableServers is the number of table servers in a world that has any.
const tableServers = 2

// peers are the processes that ranks connect to.
type peers struct {
	server  *process.Peer
	tables  []process.Peer
	members []process.Peer
}

// open creates the ranks and the parts of a run that they need.
func (w *world) open(ranks int) (err error) {
	if w.folder, err = os.MkdirTemp("", "kit"); err != nil {
		return err
	}
	var p peers
	if part, ok := w.serverPart(); ok {
		if err := w.makeServers(part, ranks, &p); err != nil {
			return err
		}
	}
	for i := range ranks {
		proc, err := w.process(fmt.Sprintf("trainer%d", i), i, w.subject.choice())
		if err != nil {
			return err
		}
		p.members = append(p.members, process.Peer{Name: proc.Name(), Address: proc.LinkAddress()})
		parts := sdk.TrainerParts{Engine: engine.Host, Recorder: proc.Recorder}
		w.ranks = append(w.ranks, NewRank(w.subject, w.point, parts, i, ranks))
	}
	if w.subject.Part.Kind == sdk.KindTrainer {
		if err := w.together(func(i int) error { return w.planTrainer(w.ranks[i], w.rankProcess(i)) }); err != nil {
			return err
		}
		w.plan = w.ranks[0].plan
	}
	if err := w.together(func(i int) error { return w.planTraffic(w.ranks[i], w.rankProcess(i)) }); err != nil {
		return err
	}
	if err := w.agree(); err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- w.serve(p.members) }()
	err = w.together(func(i int) error { return w.equip(w.ranks[i], w.rankProcess(i), p) })
	if e := <-served; err == nil {
		err = e
	}
	return err
}

func (w *world) rankProcess(i int) *process.Process { return w.procs[len(w.procs)-len(w.ranks)+i] }

// serverPart returns the part of the world's servers, if it has any.
func (w *world) serverPart() (part sdk.Part, ok bool) {
	switch part := w.subject.Part; {
	case part.Kind == sdk.KindServer:
		return part, true
	case part.Needs == sdk.ServiceTables:
		return toys.Table, true
	case part.Needs == sdk.ServiceParameters:
		return toys.Parameters, true
	case part.Kind == sdk.KindTrainer, slices.Contains(part.Links, sdk.LinkServer):
		return toys.Mean, true
	}
	return part, false
}

// makeServers creates one server for all ranks, or several servers of tables.
func (w *world) makeServers(part sdk.Part, ranks int, p *peers) error {
	choice := kit(part)
	if part.Kind == w.subject.Part.Kind {
		choice = w.subject.choice()
	}
	if part.Serves != sdk.ServiceTables {
		proc, err := w.process(fmt.Sprintf("server%d", ranks), ranks, choice)
		if err != nil {
			return err
		}
		w.server = server.New(proc, server.Config{
			Asynchronous: part.Asynchronous, Model: w.serverModel(part),
			ModelEnv: sdk.ModelEnv{MaxBatch: MaxBatch, Threads: 1},
		})
		p.server = &process.Peer{Name: proc.Name(), Address: proc.LinkAddress()}
		return nil
	}
	for i := range tableServers {
		proc, err := w.process(fmt.Sprintf("server%d", ranks+i), ranks+i, choice)
		if err != nil {
			return err
		}
		role, err := table.New(proc, table.Config{Seed: 7, Position: i, Trainers: ranks})
		if err != nil {
			return err
		}
		w.tables = append(w.tables, role)
		p.tables = append(p.tables, process.Peer{Name: proc.Name(), Address: proc.LinkAddress()})
	}
	return nil
}

// serverModel returns the model of a server of parameters, or nil for other servers.
func (w *world) serverModel(part sdk.Part) *process.Choice {
	if part.Serves != sdk.ServiceParameters {
		return nil
	}
	model := kit(toys.DenseSizes)
	if w.subject.Part.Kind == sdk.KindTrainer {
		model = kit(toys.Matrix)
	}
	return &model
}

// lookup returns the lookups that trainers may do in the tables.
func (w *world) lookup() comm.LookupSpec {
	spec := comm.LookupSpec{Bags: 64, Indices: 256}
	for _, t := range w.tables {
		spec.Tables = append(spec.Tables, t.Table())
	}
	return spec
}

// serve connects the servers to their trainers.
func (w *world) serve(trainers []process.Peer) error {
	for _, t := range w.tables {
		if _, err := t.Connect(w.lookup(), trainers); err != nil {
			return err
		}
	}
	if w.server == nil {
		return nil
	}
	buckets := traffic.Served(w.plan, w.ranks[0].traffic)
	_, err := w.server.Connect(server.Peers{Buckets: buckets, Trainers: trainers})
	return err
}

// process creates a process of the world with the given part.
func (w *world) process(name string, rank int, part process.Choice) (*process.Process, error) {
	p, err := process.New(append([]sdk.Part{w.subject.panics.around(w.subject.Part)}, toys.All...), process.Config{
		Name: name, Rank: rank, Part: part, Timeout: w.subject.Patience(),
		Secret: secret, Directory: w.folder, Transport: transport,
	}, process.NewEvents())
	if p != nil {
		w.mu.Lock()
		w.procs = append(w.procs, p)
		w.mu.Unlock()
	}
	return p, err
}

// equip gives a rank the tested part and everything that the part needs.
func (w *world) equip(r *Rank, p *process.Process, to peers) (err error) {
	choice := w.subject.choice()
	switch part := w.subject.Part; {
	case part.Kind == sdk.KindCriterion:
		r.Criterion, err = hosted.NewCriterion(p, choice, sdk.CriterionEnv{MaxBatch: r.Samples, Engine: engine.Host})
		return err
	case part.Kind == sdk.KindModel:
		return w.equipModel(r, p, choice)
	case part.Kind == sdk.KindTrainer:
		return w.equipTrainer(r, p, to)
	case len(w.tables) > 0:
		return w.joinTables(r, p, to)
	case part.Kind == sdk.KindServer:
		choice = kit(toys.Push)
	}
	store, err := w.newStore(p)
	if err != nil {
		return err
	}
	r.Buckets = store.Buckets
	links := to.links(w.subject.Part.Links, r.Position)
	links.Traffic = r.traffic
	env := sdk.HookEnv{Trainers: r.Size, Buckets: w.plan, Seed: 7}
	if env.Links, env.Rounds, err = p.JoinHook(links, store); err != nil {
		return err
	}
	r.Links = env.Links
	r.Hook, err = hosted.NewHook(p, choice, env)
	return err
}

// links returns the links of a rank's hook.
func (p *peers) links(declared []sdk.Link, position int) process.HookLinks {
	links := process.HookLinks{Server: p.server}
	if slices.Contains(declared, sdk.LinkGroup) {
		links.Group = &process.Group{Members: p.members, Position: position}
	}
	if slices.Contains(declared, sdk.LinkDefault) {
		links.Default = &process.Group{Members: p.members, Position: position}
	}
	return links
}

// newStore allocates the buckets. The buckets are guarded if the point requires it.
func (w *world) newStore(p *process.Process) (store *comm.Store, err error) {
	if !w.point.Guarded {
		if store, err = p.NewStore(w.plan); err == nil {
			p.OwnMemory(store)
		}
		return store, err
	}
	return guardedStore(p, w.plan)
}

// joinTables connects the rank to the servers of tables.
func (w *world) joinTables(r *Rank, p *process.Process, to peers) (err error) {
	spec := w.lookup()
	r.Tables, err = p.JoinTables(&spec, to.tables)
	return err
}

// equipModel binds the model to memory, one bucket for each parameter.
func (w *world) equipModel(r *Rank, p *process.Process, choice process.Choice) error {
	model, err := hosted.NewModel(p, choice, sdk.ModelEnv{MaxBatch: r.Samples, Threads: 1, Engine: engine.Host})
	if err != nil {
		return err
	}
	specs := model.Parameters()
	plan := make([]tensor.BucketSpec, len(specs))
	for k, spec := range specs {
		if err := layout.CheckShape(&specs[k]); err != nil {
			return err
		}
		plan[k] = bucketOf(k, spec, allRows)
	}
	if r.Model = model; w.point.Guarded {
		return r.bindGuarded(p, plan)
	}
	_, err = r.bind(p, plan)
	return err
}
