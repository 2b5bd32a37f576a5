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
