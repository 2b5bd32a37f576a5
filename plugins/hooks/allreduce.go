package hooks

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// allreduce averages every bucket over the trainers' group.
type allreduce struct{ averaging }

func newAllreduce(_ noSettings, env sdk.HookEnv) (sdk.Hook, error) {
	return &allreduce{newAveraging(env, env.Group)}, nil
}

func (h *allreduce) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	return h.reduce(state, b)
}

// averaging reduces buckets by averaging them over a group.
type averaging struct {
	group         comm.Group
	dense, sparse *sdk.Series
}

func newAveraging(env sdk.HookEnv, group comm.Group) averaging {
	return averaging{
		group:  group,
		dense:  env.Recorder.Series(futureMetric, "gloo_dense_allreduce"),
		sparse: env.Recorder.Series(futureMetric, "gloo_sparse_allreduce"),
	}
}

func (a *averaging) reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	series := a.dense
	if b.Sparse {
		series = a.sparse
	}
	key, start := state.Key(b.Index), comm.Now()
	f := a.group.Average(state.Batch(), b)
	f.Observe(series, key.A, key.B, start)
	return f
}
