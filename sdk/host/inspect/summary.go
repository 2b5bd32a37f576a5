package inspect

import (
	"fmt"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/process"
	"github.com/psbench/psbench/sdk/proto"
)

// summaryHead is how many elements of a tensor a summary shows.
const summaryHead = 8

// Summarize tells what training changed in the values of the parameters. It has
// initialize make the initial ones once more, in place, to compare with, so the
// final ones are gone after it.
func Summarize(specs []sdk.ParameterSpec, values []tensor.Tensor, initialize func() error) ([]*proto.ParameterSummary, error) {
	if len(specs) != len(values) {
		return nil, fmt.Errorf("%d parameters have %d values", len(specs), len(values))
	}
	final := make([][]float32, len(values))
	for k, v := range values {
		final[k] = append([]float32(nil), v.Data...)
	}
	if err := initialize(); err != nil {
		return nil, err
	}
	out := make([]*proto.ParameterSummary, len(specs))
	for k, v := range values {
		s := &proto.ParameterSummary{Name: specs[k].Name, Elements: int64(len(v.Data))}
		for i, first := range v.Data {
			delta := float64(final[k][i]) - float64(first)
			s.DeltaSum += delta
			s.DeltaSumsq += delta * delta
			if i < summaryHead {
				s.DeltaHead = append(s.DeltaHead, delta)
				s.Head = append(s.Head, float64(final[k][i]))
			}
		}
		out[k] = s
	}
	return out, nil
}

// CollectHeld sends what a server that is a Holder found of values that are not finite
// and, if the run asks for them, the summaries of what it holds; those reset the server.
func CollectHeld(st *process.Process, server interface{ Reset() }, send func(*proto.CollectReply) error) error {
	holder, ok := server.(sdk.Holder)
	if !ok {
		return nil
	}
	specs, values := holder.Held()
	var found NonFinite
	if found.Inspect(specs, values); found.Parameter != "" {
		if err := send(&proto.CollectReply{NonFinite: found.ToProto()}); err != nil {
			return err
		}
	}
	if !st.Req.GetSummarize() {
		return nil
	}
	summaries, err := Summarize(specs, values, func() error { server.Reset(); return nil })
	if err != nil {
		return err
	}
	return send(&proto.CollectReply{Parameters: summaries})
}
