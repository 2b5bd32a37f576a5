package hooks

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// hybrid averages dense buckets over the trainers' group. hybrid averages sparse buckets by a blocking all-reduce
// over the default group. The original does the same because its first group does not support sparse tensors.
type hybrid struct {
	dense    *measured
	group    comm.Group
	blocking *sdk.Series // time from the call to the operation's end; keys {batch},{bucket}
}

func newHybrid(_ noSettings, env sdk.HookEnv) (sdk.Hook, error) {
	return &hybrid{
		dense:    averaging(env),
		group:    env.Default,
		blocking: env.Recorder.Series("hook_c10d_metric", "gloo_sparse_allreduce"),
	}, nil
}

func (h *hybrid) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	if !b.Sparse {
		return h.dense.Reduce(state, b)
	}
	start := comm.Now()
	f := h.group.Average(state.Batch(), b)
	if f.Wait() == nil {
		h.blocking.Record(state.Key(b.Index), start, f.EndNS())
	}
	return f
}

// Answer implements sdk.Answerer.
func (h *hybrid) Answer(x *sdk.Exchange, answer *tensor.Gradient) error { return x.Average(answer) }

// Reset implements sdk.Hook: the hook has no state.
func (h *hybrid) Reset() {}
