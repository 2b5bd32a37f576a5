package sdk

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk/proto"
)

// find is the part of this plugin that choice names.
func (st *station) find(choice *proto.PartChoice) (Part, error) {
	for _, part := range st.parts {
		if part.Kind == Kind(choice.GetKind()) && part.Key == choice.GetKey() && !part.InTrainer() {
			return part, nil
		}
	}
	return Part{}, fmt.Errorf("this plugin has no %s %q", choice.GetKind(), choice.GetKey())
}

// build makes the part that choice names, of type P, from its environment. Servers
// of tables differ from other servers in both; newServerRole tells them apart.
func build[P any](st *station, choice *proto.PartChoice, env any) (P, error) {
	var none P
	part, err := st.find(choice)
	if err != nil {
		return none, err
	}
	// While a part is made, others may wait for this process, but it is to blame.
	late := time.AfterFunc(st.timeout, func() {
		st.events.fail(fmt.Errorf("%s: %s %s is not made after %g s", st.name(), part.Kind, part.Key, st.timeout.Seconds()))
	})
	made, err := part.Build(choice.GetSettings(), env)
	late.Stop()
	if err != nil {
		title := titleOf(choice)
		return none, &partError{text: fmt.Sprintf("%s: %s", title, quote.Message(err.Error())), err: err}
	}
	return made.(P), nil
}

// local is the choice of a part that the process holds beside its own, or nil
// if the part lives in a companion.
func (st *station) local(kind Kind) *proto.PartChoice {
	for _, c := range st.req.GetLocal() {
		if Kind(c.GetKind()) == kind {
			return c
		}
	}
	return nil
}

// titleOf is a part as errors name it: its kind and key.
func titleOf(choice *proto.PartChoice) string { return choice.GetKind() + " " + choice.GetKey() }

// title is the process's own part.
func (st *station) title() string { return titleOf(st.req.GetPart()) }

// modelEnv is what a model in this process knows of its run.
func (st *station) modelEnv() ModelEnv {
	return ModelEnv{
		MaxBatch: int(st.req.GetBatchSize()), Threads: int(st.req.GetThreads()), FirstTensor: int(st.req.GetFirstTensor()),
	}
}
