package hooks

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// rpc sends every bucket to the server, which answers with the average.
type rpc struct{ pushing }

func newRPC(_ noSettings, env sdk.HookEnv) (sdk.Hook, error) { return &rpc{newPushing(env)}, nil }

func (h *rpc) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future { return h.reduce(state, b) }

// pushing reduces buckets by the trainer's server.
type pushing struct {
	futures
	push func(batch int64, b *tensor.Bucket) *comm.Future // made once: a method value is an allocation
}

func newPushing(env sdk.HookEnv) pushing {
	return pushing{newFutures(env.Recorder, "rpc_dense", "rpc_sparse"), env.Server.PushPull}
}

func (p *pushing) reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	return p.measure(state, b, p.push)
}
