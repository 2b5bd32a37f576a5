package hooks

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// measured reduces buckets by one operation of a link. It measures the time from the hook's
// call to the completion of its future, under the hook state's keys, {batch},{bucket}.
type measured struct {
	operation     func(batch int64, b *tensor.Bucket) *comm.Future // made once: a method value is an allocation
	dense, sparse *sdk.Series
}

func newMeasured(r *sdk.Recorder, operation func(int64, *tensor.Bucket) *comm.Future, dense, sparse string) *measured {
	const metric = "hook_future_metric"
	return &measured{operation, r.Series(metric, dense), r.Series(metric, sparse)}
}

// pushing reduces buckets by the trainer's server.
func pushing(env sdk.HookEnv) *measured {
	return newMeasured(env.Recorder, env.Server.PushPull, "rpc_dense", "rpc_sparse")
}

// averaging reduces buckets by averaging them over the trainers' group.
func averaging(env sdk.HookEnv) *measured {
	return newMeasured(env.Recorder, env.Group.Average, "gloo_dense_allreduce", "gloo_sparse_allreduce")
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

// Reset implements sdk.Hook: nothing is kept.
func (m *measured) Reset() {}
