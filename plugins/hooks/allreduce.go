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
