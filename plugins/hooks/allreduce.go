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
	futures
	average func(batch int64, b *tensor.Bucket) *comm.Future // made once: a method value is an allocation
}

func newAveraging(env sdk.HookEnv, group comm.Group) averaging {
	return averaging{newFutures(env.Recorder, "gloo_dense_allreduce", "gloo_sparse_allreduce"), group.Average}
}

func (a *averaging) reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	return a.measure(state, b, a.average)
}
