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
	server        comm.PushPuller
	dense, sparse *sdk.Series
}

func newPushing(env sdk.HookEnv) pushing {
	return pushing{
		server: env.Server,
		dense:  env.Recorder.Series(futureMetric, "rpc_dense"),
		sparse: env.Recorder.Series(futureMetric, "rpc_sparse"),
	}
}

func (p *pushing) reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	series := p.dense
	if b.Sparse {
		series = p.sparse
	}
	key, start := state.Key(b.Index), comm.Now()
	f := p.server.PushPull(state.Batch(), b)
	f.Observe(series, key.A, key.B, start)
	return f
}
