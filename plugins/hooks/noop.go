package hooks

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
)

// noop leaves every bucket unchanged. noop gives the same training without communication, as a baseline for every
// other hook.
type noop struct{ done *comm.Future }

func newNoop(noSettings, sdk.HookEnv) (sdk.Hook, error) {
	return &noop{comm.Completed(nil)}, nil
}

func (h *noop) Reduce(sdk.HookState, *tensor.Bucket) *comm.Future { return h.done }

// Answer implements sdk.Answerer: each rank keeps its own gradient.
func (h *noop) Answer(x *sdk.Exchange, answer *tensor.Gradient) error {
	return answer.CopyFrom(x.Gradients[x.Rank])
}

func (h *noop) Reset() {}
