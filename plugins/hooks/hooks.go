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

// futures measures the time from the hook's call to the completion of its future, under the
// hook state's keys, {batch},{bucket}.
type futures struct{ dense, sparse *sdk.Series }

func newFutures(r *sdk.Recorder, dense, sparse string) futures {
	const metric = "hook_future_metric"
	return futures{dense: r.Series(metric, dense), sparse: r.Series(metric, sparse)}
}

// measure starts the reduction of a bucket.
func (m *futures) measure(state sdk.HookState, b *tensor.Bucket, reduce func(batch int64, b *tensor.Bucket) *comm.Future) *comm.Future {
	series := m.dense
	if b.Sparse {
		series = m.sparse
	}
	key, start := state.Key(b.Index), comm.Now()
	f := reduce(state.Batch(), b)
	f.Observe(series, key.A, key.B, start)
	return f
}
