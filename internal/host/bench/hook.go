package bench

import (
	"slices"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/hosted"
	"github.com/psbench/psbench/sdk"
)

// hook is the measured hook, as a trainer's process holds it.
type hook struct {
	sdk.Hook
	state roundState
	title string
	links []sdk.Link // the links that it declares
}

// roundState tells a hook the number of the current round.
type roundState struct{ round int64 }

func (s *roundState) Batch() int64           { return s.round }
func (s *roundState) Key(bucket int) sdk.Key { return sdk.Key{A: s.round, B: int64(bucket)} }

// newHook builds the hook with its declared links and the rounds of its traffic plan.
func (r *Role) newHook(joined sdk.Links, rounds sdk.Rounds) (*hook, error) {
	h := &hook{title: r.config.Hook.Title(), links: r.config.Links}
	if r.part == nil {
		part, err := r.Find(*r.config.Hook)
		if err != nil {
			return nil, err
		}
		h.links = part.Links
	}
	env := sdk.HookEnv{Trainers: r.config.Trainers, Buckets: r.store.Specs(), Seed: r.config.Seed, Rounds: rounds}
	if h.uses(sdk.LinkServer) {
		env.Server = joined.Server
	}
	if h.uses(sdk.LinkGroup) {
		env.Group = joined.Group
	}
	if h.uses(sdk.LinkDefault) {
		env.Default = joined.Default
	}
	if r.part != nil {
		r.part.Join(env.Links)
		h.Hook = r.part
		return h, nil
	}
	var err error
	h.Hook, err = hosted.NewHook(r.Process, *r.config.Hook, env)
	return h, err
}

func (h *hook) uses(link sdk.Link) bool { return slices.Contains(h.links, link) }

// alone reports whether the hook uses only its server link. The result of such a hook covers the
// ranks that share its server.
func (h *hook) alone() bool { return slices.Equal(h.links, []sdk.Link{sdk.LinkServer}) }

// Reduce implements bench.Reducer.
func (h *hook) Reduce(round int64, b *tensor.Bucket) *comm.Future {
	h.state.round = round
	return h.Hook.Reduce(&h.state, b)
}
