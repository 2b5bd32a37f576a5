package sdk

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/proto"
)

// hostedHook is a hook as the process that holds it hands it on.
type hostedHook struct {
	Hook
	explain func(error) error // made once, since every bucket of every iteration gets it
}

func (h *hostedHook) Reduce(state HookState, b *tensor.Bucket) *comm.Future {
	f := h.Hook.Reduce(state, b)
	f.Explain(h.explain)
	return f
}

// Facts implements Describer for a hook that does.
func (h *hostedHook) Facts() map[string]string { return facts(nil, h.Hook) }

func buildHook(st *station, choice *proto.PartChoice, env HookEnv) (Hook, error) {
	hook, err := build[Hook](st, choice, env)
	if err != nil {
		return nil, err
	}
	title := titleOf(choice)
	return &hostedHook{hook, func(err error) error { return errorOf(title, "Reduce", err) }}, nil
}
