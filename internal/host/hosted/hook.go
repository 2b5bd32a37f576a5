package hosted

import (
	"cmp"
	"errors"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/traffic"
	"github.com/psbench/psbench/sdk"
)

// namedHook wraps a hook so that its errors name it.
type namedHook struct {
	sdk.Hook
	watch   *watch
	stamps  *stamps
	rounds  *traffic.Rounds   // nil if the hook plans nothing
	explain func(error) error // created once, because every bucket in every iteration uses it
}

func (h *namedHook) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	return h.reduce(state, b, comm.Now())
}

// ReduceSince calls Reduce of a wrapped hook for a bucket that was complete at cameNS, in ns of
// comm.Now.
func ReduceSince(h sdk.Hook, state sdk.HookState, b *tensor.Bucket, cameNS int64) *comm.Future {
	if named, ok := h.(*namedHook); ok {
		return named.reduce(state, b, cameNS)
	}
	return h.Reduce(state, b)
}

func (h *namedHook) reduce(state sdk.HookState, b *tensor.Bucket, cameNS int64) *comm.Future {
	h.stamps.hand(state.Batch(), b, cameNS)
	f := h.Hook.Reduce(state, b)
	if f == nil {
		f = comm.Completed(errNoFuture)
	}
	if err := h.watch.err(); err != nil {
		f = comm.Completed(err)
	}
	if h.rounds != nil {
		if err := h.rounds.Failed(); err != nil {
			f = comm.Completed(err)
		}
	}
	h.stamps.returned(b, f)
	f.Explain(h.explain)
	return f
}

// Reset implements sdk.Hook. Reset forgets operations that an earlier pass left in flight.
func (h *namedHook) Reset() {
	h.Hook.Reset()
	h.watch.reset()
	if h.rounds != nil {
		h.rounds.Reset()
	}
	h.stamps.reset()
}

// AnswererOf returns the Answerer of a wrapped hook, or nil if the hook does not predict its
// results.
func AnswererOf(h sdk.Hook) sdk.Answerer {
	if named, ok := h.(*namedHook); ok {
		h = named.Hook
	}
	answerer, _ := h.(sdk.Answerer)
	return answerer
}

// Unawaited returns an error that names an operation that a hook has started but not waited for, or
// nil. The error can explain wrong values in a bucket. If no value is wrong, the unawaited
// operation is no fault, since the hook may wait later.
func Unawaited(h sdk.Hook) error {
	if named, ok := h.(*namedHook); ok {
		return cmp.Or(named.watch.err(), named.watch.unawaited())
	}
	return nil
}

var errNoFuture = errors.New("it returns no future: it must return one that is done once the bucket is reduced")

// Facts implements Describer if the wrapped hook does.
func (h *namedHook) Facts() map[string]string { return process.Facts(nil, h.Hook) }

// PassFacts implements PassDescriber if the wrapped hook does.
func (h *namedHook) PassFacts() map[string]string { return process.PassFacts(nil, h.Hook) }

// NewHook builds and wraps the hook that choice names. The hook's caller is blocked until Reduce
// returns. NewHook adds the rank and the process name to env.
func NewHook(p *process.Process, choice process.Choice, env sdk.HookEnv) (sdk.Hook, error) {
	return newHook(p, choice, env, true)
}

// NewHookBeside is like NewHook for a hook whose trainer continues while Reduce runs.
func NewHookBeside(p *process.Process, choice process.Choice, env sdk.HookEnv) (sdk.Hook, error) {
	return newHook(p, choice, env, false)
}

func newHook(p *process.Process, choice process.Choice, env sdk.HookEnv, onTrainer bool) (sdk.Hook, error) {
	env.Rank, env.Name, env.Recorder = p.Rank(), p.Name(), p.Recorder
	s := newStamps(&env, onTrainer)
	w := newWatch(&env, s)
	rounds, ok := env.Rounds.(*traffic.Rounds)
	if ok {
		rounds.Started = s.called
	}
	hook, err := process.Build[sdk.Hook](p, choice, env)
	if err != nil {
		return nil, err
	}
	title := choice.Title()
	return &namedHook{hook, w, s, rounds, func(err error) error { return fault.Of(title, "Reduce", err) }}, nil
}
