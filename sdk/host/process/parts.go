package process

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/host/fault"
	"github.com/psbench/psbench/sdk/proto"
)

// Find is the part of this plugin that choice names.
func (st *Process) Find(choice *proto.PartChoice) (sdk.Part, error) {
	for _, part := range st.parts {
		if part.Kind == sdk.Kind(choice.GetKind()) && part.Key == choice.GetKey() && !part.InTrainer() {
			return part, nil
		}
	}
	return sdk.Part{}, fmt.Errorf("this plugin has no %s %q", choice.GetKind(), choice.GetKey())
}

// Build makes the part that choice names, of type P, from its environment. Servers
// of tables differ from other servers in both; New tells them apart.
func Build[P any](st *Process, choice *proto.PartChoice, env any) (P, error) {
	var none P
	part, err := st.Find(choice)
	if err != nil {
		return none, err
	}
	// While a part is made, others may wait for this process, but it is to blame.
	late := time.AfterFunc(st.Timeout, func() {
		st.Events.Fail(fmt.Errorf("%s: %s %s is not made after %g s", st.Name(), part.Kind, part.Key, st.Timeout.Seconds()))
	})
	made, err := part.Build(choice.GetSettings(), env)
	late.Stop()
	if err != nil {
		title := TitleOf(choice)
		return none, &fault.Part{Text: fmt.Sprintf("%s: %s", title, quote.Message(err.Error())), Err: err}
	}
	return made.(P), nil
}

// Local is the choice of a part that the process holds beside its own, or nil
// if the part lives in a companion.
func (st *Process) Local(kind sdk.Kind) *proto.PartChoice {
	for _, c := range st.Req.GetLocal() {
		if sdk.Kind(c.GetKind()) == kind {
			return c
		}
	}
	return nil
}

// TitleOf is a part as errors name it: its kind and key.
func TitleOf(choice *proto.PartChoice) string { return choice.GetKind() + " " + choice.GetKey() }

// Title is the process's own part.
func (st *Process) Title() string { return TitleOf(st.Req.GetPart()) }

// ModelEnv is what a model in this process knows of its run.
func (st *Process) ModelEnv() sdk.ModelEnv {
	return sdk.ModelEnv{
		MaxBatch: int(st.Req.GetBatchSize()), Threads: int(st.Req.GetThreads()), FirstTensor: int(st.Req.GetFirstTensor()),
	}
}
