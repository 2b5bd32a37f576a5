// Package hooks holds the built-in communication hooks, one file each.
package hooks

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// Parts lists the hooks of this package.
func Parts() []sdk.Part {
	return []sdk.Part{
		sdk.NewHook("allreduce", noSettings{}, newAllreduce, sdk.LinkGroup),
		sdk.NewHook("hybrid", noSettings{}, newHybrid, sdk.LinkGroup, sdk.LinkDefault),
		sdk.NewHook("rpc", noSettings{}, newRPC, sdk.LinkServer),
		sdk.NewHook("sparse_rpc", noSettings{}, newSparseRPC, sdk.LinkServer, sdk.LinkGroup),
		sdk.NewHook("noop", noSettings{}, newNoop),
	}
}

type noSettings struct{}

// futureMetric is the type of the metrics that run from the hook's call to the
// completion of its future; their keys are the hook state's, {batch},{bucket}.
const futureMetric = "hook_future_metric"

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
