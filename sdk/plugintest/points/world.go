package points

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/host/hosted"
	"github.com/psbench/psbench/sdk/host/layout"
	"github.com/psbench/psbench/sdk/host/process"
	"github.com/psbench/psbench/sdk/host/server"
)

// world is the processes of a run within this one: ranks that carry points out, and a server
// where one is tested, each on psbench's own host and joined by a real fabric.
type world struct {
	subject *Subject
	folder  string // of sockets
	guarded bool   // models are bound to guarded memory
	procs   []*process.Process
	ranks   []*Rank
	server  *server.Role
	plan    []tensor.BucketSpec
}

// inWorld carries the point out in ranks of this process.
func (p Point) inWorld(s *Subject) error {
	w := &world{subject: s, plan: s.buckets(), guarded: p.Guarded}
	err := within(s.timeout()+hostGrace, func() error { return w.carry(p) })
	var peer *comm.PeerError
	if told := w.told(); told != nil && !errors.As(told, &peer) {
		err = told // which explains what the ranks saw of it
	}
	if end := within(s.timeout(), w.close); err == nil {
		err = end
	}
	return err
}

func (w *world) carry(p Point) error {
	if err := w.open(max(1, p.Ranks)); err != nil {
		return err
	}
	for pass := range max(1, p.Passes) {
		if err := w.reset(pass); err != nil {
			return err
		}
		if err := w.together(func(i int) error { return p.Carry(w.ranks[i]) }); err != nil {
			return err
		}
	}
	return w.compare()
}

// compare compares what the ranks told.
func (w *world) compare() error {
	for _, r := range w.ranks[1:] {
		for what, here := range r.Told {
			if there := w.ranks[0].Told[what]; here != there {
				return fmt.Errorf("%s is %s on rank 0 and %s on rank %d", what, there, here, r.Position)
			}
		}
	}
	return nil
}

// together has every rank do something at once. The error is the first of one that failed.
func (w *world) together(step func(rank int) error) error {
	errs := make(chan error, len(w.ranks))
	for i := range w.ranks {
		go func() { errs <- guarded(func() error { return step(i) }) }()
	}
	var first error
	for range w.ranks {
		if err := <-errs; first == nil {
			first = err
		}
	}
	return first
}

// told is what a process found wrong with the part outside of a call, a server's first.
func (w *world) told() error {
	for _, p := range w.procs {
		select {
		case err := <-p.Events.Failures:
			return err
		default:
		}
	}
	return nil
}

func (w *world) reset(pass int) error {
	if w.server != nil {
		if err := w.server.Reset(); err != nil {
			return err
		}
		if err := w.server.Expect(nil); err != nil {
			return err
		}
	}
	for _, r := range w.ranks {
		r.Pass = pass
		r.Recorder.Reset()
		if r.Hook != nil {
			r.Hook.Reset()
		}
	}
	return nil
}

// close ends the parts, then the links of trainers and at last those of servers.
func (w *world) close() error {
	var first error
	for i := range w.procs {
		if err := w.procs[i].CloseParts(w.subject.timeout()); first == nil {
			first = err
		}
		if err := w.procs[i].Recorder.Err(); first == nil {
			first = err
		}
	}
	var closing sync.WaitGroup
	for _, p := range w.procs {
		closing.Go(p.Close)
	}
	closing.Wait()
	if w.folder != "" {
		_ = os.RemoveAll(w.folder) // it is one of temporary files
	}
	return first
}

// open makes ranks and what they need of a run.
func (w *world) open(ranks int) (err error) {
	if w.folder, err = os.MkdirTemp("", "kit"); err != nil {
		return err
	}
	var peer *process.Peer
	if w.needsServer() {
		proc, err := w.process(fmt.Sprintf("server%d", ranks), ranks)
		if err != nil {
			return err
		}
		part := w.serverPart()
		w.server = server.New(proc, server.Config{Asynchronous: part.Asynchronous, Model: w.subject.serverModel(), ModelEnv: sdk.ModelEnv{MaxBatch: MaxBatch, Threads: 1}})
		peer = &process.Peer{Name: proc.Name(), Address: proc.LinkAddress()}
	}
	var members []process.Peer
	for i := range ranks {
		proc, err := w.process(fmt.Sprintf("trainer%d", i), i)
		if err != nil {
			return err
		}
		members = append(members, process.Peer{Name: proc.Name(), Address: proc.LinkAddress()})
		parts := sdk.TrainerParts{Engine: engine.Host, Recorder: proc.Recorder}
		w.ranks = append(w.ranks, NewRank(w.subject, parts, i, ranks))
	}
	served := make(chan error, 1)
	go func() { served <- w.serve(members) }()
	err = w.together(func(i int) error {
		links := process.HookLinks{Server: peer}
		for _, link := range w.links() {
			switch link {
			case sdk.LinkGroup:
				links.Group = &process.Group{Members: members, Position: i}
			case sdk.LinkDefault:
				links.Default = &process.Group{Members: members, Position: i}
			}
		}
		return w.equip(w.ranks[i], w.rankProcess(i), links)
	})
	if e := <-served; err == nil {
		err = e
	}
	return err
}

func (w *world) rankProcess(i int) *process.Process { return w.procs[len(w.procs)-len(w.ranks)+i] }

// serve builds the server and takes its trainers.
func (w *world) serve(trainers []process.Peer) error {
	if w.server == nil {
		return nil
	}
	_, err := w.server.Connect(server.Peers{Buckets: w.plan, Trainers: trainers})
	return err
}

// process makes one of the world.
func (w *world) process(name string, rank int) (*process.Process, error) {
	part := w.subject.choice()
	if w.subject.Part.Kind != sdk.KindServer {
		part = kit(meanServer)
	}
	p, err := process.New(append([]sdk.Part{w.subject.Part}, toys...), process.Config{
		Name: name, Rank: rank, Part: part, Timeout: w.subject.timeout(), Secret: secret, Directory: w.folder, Transport: transport,
	}, process.NewEvents())
	if p != nil {
		w.procs = append(w.procs, p)
	}
	return p, err
}

// equip gives a rank the part that is tested, with what that needs.
func (w *world) equip(r *Rank, p *process.Process, links process.HookLinks) error {
	choice := w.subject.choice()
	var err error
	switch w.subject.Part.Kind {
	case sdk.KindCriterion:
		r.Criterion, err = hosted.NewCriterion(p, choice, sdk.CriterionEnv{MaxBatch: MaxBatch, Engine: engine.Host})
		return err
	case sdk.KindModel:
		return w.equipModel(r, p, choice)
	case sdk.KindTrainer:
		return w.equipTrainer(r, p, links)
	case sdk.KindServer:
		choice = kit(pushHook)
	}
	store, err := p.NewStore(w.plan)
	if err != nil {
		return err
	}
	p.OwnMemory(store)
	r.Buckets = store.Buckets
	if r.Links, err = p.JoinLinks(links, store); err != nil {
		return err
	}
	r.Hook, err = hosted.NewHook(p, choice, sdk.HookEnv{Trainers: r.Size, Buckets: w.plan, Seed: 7, Links: r.Links})
	return err
}

// equipModel binds the model to memory, a bucket for each parameter.
func (w *world) equipModel(r *Rank, p *process.Process, choice process.Choice) error {
	model, err := hosted.NewModel(p, choice, sdk.ModelEnv{MaxBatch: MaxBatch, Threads: 1, Engine: engine.Host})
	if err != nil {
		return err
	}
	specs := model.Parameters()
	plan := make([]tensor.BucketSpec, len(specs))
	for k, spec := range specs {
		if err := layout.CheckShape(&specs[k]); err != nil {
			return err
		}
		plan[k] = tensor.BucketSpec{Index: k, Elements: tensor.Elements(spec.Shape), Parameters: []tensor.Span{{Parameter: k, Elements: tensor.Elements(spec.Shape)}}}
		if spec.Sparse {
			plan[k].Sparse, plan[k].TableRows, plan[k].Width, plan[k].Capacity = true, spec.Shape[0], spec.Shape[1], spec.Shape[0]
		}
	}
	if r.Model = model; w.guarded {
		return r.bindGuarded(p, plan)
	}
	_, err = r.bind(p, plan)
	return err
}

// links are those of the hook that a rank has.
func (w *world) links() []sdk.Link {
	if w.subject.Part.Kind == sdk.KindTrainer {
		return groupHook.Links
	}
	return w.subject.Part.Links
}

func (w *world) needsServer() bool {
	part := w.subject.Part
	if part.Kind == sdk.KindServer {
		return true
	}
	for _, link := range part.Links {
		if link == sdk.LinkServer {
			return true
		}
	}
	return false
}

// serverPart is the server of the world.
func (w *world) serverPart() sdk.Part {
	if w.subject.Part.Kind == sdk.KindServer {
		return w.subject.Part
	}
	return meanServer
}
