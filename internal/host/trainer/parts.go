package trainer

import (
	"fmt"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/host/call"
	"github.com/psbench/psbench/internal/host/companion"
	"github.com/psbench/psbench/internal/host/hosted"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/protocol"
	"github.com/psbench/psbench/sdk"
)

// companions are the companion processes that hold parts of a trainer's rank.
type companions struct {
	role       *Role
	peers      map[sdk.Kind]process.Peer
	calls      int                // size in bytes of the memory for calls
	boundaryNS map[sdk.Kind]int64 // median round trip of a no-op call to each connected companion
}

// find returns the companion that holds a part of this kind.
func (c *companions) find(kind sdk.Kind) (process.Peer, error) {
	peer, ok := c.peers[kind]
	if !ok {
		return peer, fmt.Errorf("%s has neither a %s of its own nor a companion for it", c.role.Name(), kind)
	}
	return peer, nil
}

// dial connects to a companion that is a psbench process.
func (c *companions) dial(kind sdk.Kind, peer process.Peer) (*call.Link, error) {
	room := c.calls
	if kind == sdk.KindHook { // buckets are not sent over this link
		room = 1
	}
	conn, trip, err := companion.Dial(c.role.Process, peer, room)
	c.boundaryNS[kind] = trip
	return conn, err
}

func (r *Role) connectModel(model *layout.Model, beside *companions) (err error) {
	p := &r.parts
	if r.model != nil {
		if p.Values, err = layout.NewValues(r.Engine, r.specs); err != nil {
			return fmt.Errorf("%s: %w", r.Name(), err)
		}
	} else if err = r.joinModel(model, beside); err != nil {
		return err
	}
	p.Model, p.Step = r.model, stepOf(r.model, model)
	return r.model.Bind(p.Values, p.Gradients)
}

// stepOf returns the Step method of a model that updates its own parameters, or nil for any other
// model.
func stepOf(m sdk.Model, d *layout.Model) func() error {
	if remote, ok := m.(sdk.SteppingModel); ok && d.Steps {
		return remote.Step
	}
	return hosted.StepOf(m)
}

// joinModel connects to the companion with the model.
func (r *Role) joinModel(model *layout.Model, beside *companions) error {
	peer, err := beside.find(sdk.KindModel)
	if err != nil {
		return err
	}
	p := &r.parts
	if peer.Protocol {
		segment, err := r.newParameters()
		if err != nil {
			return err
		}
		r.model, beside.boundaryNS[sdk.KindModel], err = protocol.NewModel(r.Process, peer, model,
			protocol.Memory{Values: segment, Store: r.store})
		return err
	}
	conn, err := beside.dial(sdk.KindModel, peer)
	if err != nil {
		return err
	}
	if p.Values, err = r.offerParameters(conn); err != nil {
		return err
	}
	if err := conn.Watch(r.Process); err != nil {
		return err
	}
	var mapped *comm.Store
	if r.Fabric.Maps() {
		mapped = r.store
	}
	r.model = companion.NewRemoteModel(conn, mapped, model, r.Timeout)
	return nil
}

func (r *Role) connectCriterion(beside *companions) (err error) {
	if choice, ok := r.config.local(sdk.KindCriterion); ok {
		r.parts.Criterion, err = hosted.NewCriterion(r.Process, choice,
			sdk.CriterionEnv{MaxBatch: r.config.Model.MaxBatch, Engine: r.Engine})
		return err
	}
	peer, err := beside.find(sdk.KindCriterion)
	if err != nil {
		return err
	}
	if peer.Protocol {
		r.parts.Criterion, beside.boundaryNS[sdk.KindCriterion], err = protocol.NewCriterion(r.Process, peer)
		return err
	}
	conn, err := beside.dial(sdk.KindCriterion, peer)
	if err != nil {
		return err
	}
	r.parts.Criterion = companion.NewRemoteCriterion(conn, r.Timeout)
	return conn.Watch(r.Process)
}

// connectHook connects or builds the hook. connectHook also decides where buckets lie, and adds a
// fact about that.
func (r *Role) connectHook(links process.HookLinks, beside *companions, facts map[string]string) error {
	if choice, ok := r.config.local(sdk.KindHook); ok {
		refused := r.mayShare(choice)
		if refused == "" {
			r.store.Lent = r.staged
		}
		env := sdk.HookEnv{Trainers: r.config.Trainers, Buckets: r.store.Specs(), Seed: r.config.Seed}
		var err error
		if env.Links, env.Rounds, err = r.JoinHook(links, r.store); err != nil {
			return err
		}
		r.parts.Links = env.Links
		r.share(refused, facts)
		newHook := hosted.NewHook
		if r.staged != nil && r.parts.AwaitShared == nil { // the reducer's goroutine calls the hook
			newHook = hosted.NewHookBeside
		}
		r.parts.Hook, err = newHook(r.Process, choice, env)
		return err
	}
	r.share("the hook has a process of its own", facts)
	peer, err := beside.find(sdk.KindHook)
	if err != nil {
		return err
	}
	if peer.Protocol {
		return r.joinHook(peer, links, beside)
	}
	conn, err := beside.dial(sdk.KindHook, peer)
	if err != nil {
		return err
	}
	if err := conn.Conn.Lift(); err != nil {
		return err
	}
	link, err := r.Fabric.Companions().NewServerLink(conn.Conn, r.store, r.Timeout)
	if err != nil {
		return err
	}
	r.Own(link)
	r.parts.Hook = companion.NewRemoteHook(link)
	return nil
}

// joinHook connects to a companion whose hook requests operations on the rank's links. The links
// are connected after the hook and so closed before it, because the hook waits for their
// operations. The trainer gets none of these links, since it does not know in which order the hook
// uses them.
func (r *Role) joinHook(peer process.Peer, links process.HookLinks, beside *companions) error {
	hook, trip, err := protocol.NewHook(r.Process, peer, r.store)
	if err != nil {
		return err
	}
	beside.boundaryNS[sdk.KindHook] = trip
	joined, err := r.JoinLinks(links, r.store)
	if err != nil {
		return err
	}
	hook.Join(joined)
	r.parts.Hook = hook
	return hook.Lay(r.Process, links)
}
