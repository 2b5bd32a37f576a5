package hooks

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// sparseRPC sends sparse buckets to the server and averages dense buckets over the trainers' group.
type sparseRPC struct{ dense, sparse *measured }

func newSparseRPC(_ noSettings, env sdk.HookEnv) (sdk.Hook, error) {
	return &sparseRPC{dense: averaging(env), sparse: pushing(env)}, nil
}

func (h *sparseRPC) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	if b.Sparse {
		return h.sparse.Reduce(state, b)
	}
	return h.dense.Reduce(state, b)
}

// Answer implements sdk.Answerer.
func (h *sparseRPC) Answer(x *sdk.Exchange, answer *tensor.Gradient) error {
	if x.Bucket.Sparse {
		return h.sparse.Answer(x, answer)
	}
	return h.dense.Answer(x, answer)
}

// Reset implements sdk.Hook: the hook has no state.
func (h *sparseRPC) Reset() {}
