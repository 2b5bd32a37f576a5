package main

import (
	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk"
)

// spoiling is the setting of parts that declare to average. The setting selects the mistake.
type spoiling struct {
	Fault string `json:"fault" doc:"what is wrong with the mean"`
}

func (s spoiling) spoil(g *tensor.Gradient, trainers int) {
	n := len(g.Values)
	switch {
	case n == 0:
	case s.Fault == "last":
		g.Values[n-1]++
	case s.Fault == "divide":
		vec.Scale(float32(trainers)/float32(trainers+1), g.Values)
	case s.Fault == "row" && g.Sparse():
		_ = g.SetRows(len(g.Rows) - 1)
	}
}

// spoiltHook averages over the group and then spoils the result.
type spoiltHook struct {
	spoiling
	group comm.Group
}

func (h *spoiltHook) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	if err := h.group.Average(state.Batch(), b).Wait(); err != nil {
		return comm.Completed(err)
	}
	h.spoil(&b.Gradient, h.group.Size())
	return comm.Completed(nil)
}

func (h *spoiltHook) Reset() {}

// askedHook states that it averages when psbench asks for its answer.
type askedHook struct{ spoiltHook }

func (h *askedHook) Answer(x *sdk.Exchange, answer *tensor.Gradient) error { return x.Average(answer) }

// spoiltServer averages each element and then spoils the result.
type spoiltServer struct {
	spoiling
	trainers int
}

func (s *spoiltServer) Combine(sum []float32, others [][]float32) {
	for _, other := range others {
		vec.Add(sum, other)
	}
}

func (s *spoiltServer) Finish(sum []float32) {
	vec.Scale(1/float32(s.trainers), sum)
	s.spoil(&tensor.Gradient{Values: sum}, s.trainers)
}

// spoiltParts returns parts that declare to average, and one part that declares nothing.
func spoiltParts() []sdk.Part {
	silent := sdk.NewHook("silent", spoiling{}, func(s spoiling, env sdk.HookEnv) (sdk.Hook, error) {
		return &spoiltHook{s, env.Group}, nil
	}, sdk.LinkGroup)
	hook := silent
	hook.Key = "spoilt"
	asked := sdk.Answering(sdk.AnswersOwn,
		sdk.NewHook("asked", spoiling{}, func(s spoiling, env sdk.HookEnv) (sdk.Hook, error) {
			return &askedHook{spoiltHook{s, env.Group}}, nil
		}, sdk.LinkGroup))
	return []sdk.Part{
		silent, asked, sdk.Answering(sdk.AnswersMean, hook),
		sdk.Answering(sdk.AnswersMean, sdk.NewElementwiseServer("spoilt_server", sdk.OnArrival, spoiling{},
			func(s spoiling, env sdk.ServerEnv) (sdk.ElementwiseServer, error) {
				return &spoiltServer{s, env.Trainers}, nil
			})),
	}
}
