package hooks

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// measured reduces buckets by one operation of a link. measured measures the time from the hook's call until its
// future completes. The keys come from the hook state: {batch},{bucket}.
type measured struct {
	operation     func(batch int64, b *tensor.Bucket) *comm.Future // bound once, because each method value allocates
	answer        func(x *sdk.Exchange, answer *tensor.Gradient) error
	dense, sparse *sdk.Series
}

const futureMetric = "hook_future_metric"

// pushing returns a hook that pushes buckets to the trainer's server.
func pushing(env sdk.HookEnv) *measured {
	series := env.Recorder.Series
	return &measured{env.Server.PushPull, (*sdk.Exchange).PushPull, series(futureMetric, "rpc_dense"),
		series(futureMetric, "rpc_sparse")}
}

// averaging returns a hook that averages buckets over the trainers' group.
func averaging(env sdk.HookEnv) *measured {
	series := env.Recorder.Series
	return &measured{env.Group.Average, (*sdk.Exchange).Average, series(futureMetric, "gloo_dense_allreduce"),
		series(futureMetric, "gloo_sparse_allreduce")}
}

// Reduce implements sdk.Hook.
func (m *measured) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	series := m.dense
	if b.Sparse {
		series = m.sparse
	}
	key, start := state.Key(b.Index), comm.Now()
	f := m.operation(state.Batch(), b)
	f.Observe(series, key.A, key.B, start)
	return f
}

// Answer implements sdk.Answerer.
func (m *measured) Answer(x *sdk.Exchange, answer *tensor.Gradient) error {
	return m.answer(x, answer)
}

// Reset implements sdk.Hook: the hook has no state.
func (m *measured) Reset() {}
