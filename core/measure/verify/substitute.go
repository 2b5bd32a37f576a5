package verify

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

// Substitutes are the user's parts that replace parts of the cases.
type Substitutes struct {
	Kinds []sdk.Kind
	// Own turns an unchanged case, with its own parts, into an experiment.
	Own Resolve
}

// misfit explains why a case cannot run with the user's parts. A misfit is no fault of these parts.
type misfit struct{ text string }

func (m *misfit) Error() string { return m.text }

func (s Substitutes) has(kind sdk.Kind) bool { return slices.Contains(s.Kinds, kind) }

// unresolved returns the error of a configuration. The error is a misfit if the user's parts cause it.
func (s Substitutes) unresolved(c Case, err error) error {
	if unknown := (*config.UnknownSettingError)(nil); len(s.Kinds) == 0 && !errors.As(err, &unknown) {
		return err
	}
	name := "case " + c.Head().title() // the output already names the case
	return &misfit{strings.ReplaceAll(strings.TrimPrefix(err.Error(), name+": "), " in "+name, "")}
}

// fit returns an error if a case would not use the user's parts.
func (s Substitutes) fit(c Case, e *config.Experiment) error {
	server := e.Parts[sdk.KindServer]
	if server.Asynchronous && len(e.World.TrainersOf(e.World.ServerRanks()[0])) > 1 {
		return &misfit{fmt.Sprintf("server %s does not wait for all of its trainers, so they race, and no two runs "+
			"are alike",
			quote.Word(server.Key))}
	}
	switch {
	case !s.has(sdk.KindServer):
	case c.Head().NServer == 0:
		return &misfit{"it has no servers"}
	case e.Service == sdk.ServiceGradients && !e.Links.Server:
		return &misfit{fmt.Sprintf("its hook %s does not use the servers", quote.Word(e.Parts[sdk.KindHook].Key))}
	}
	if !s.has(sdk.KindHook) || e.Service != sdk.ServiceGradients || c.Head().NServer < 2 {
		return nil
	}
	// If there are several servers, each reduces over its own trainers only. A group reduces over all trainers.
	own, err := s.Own(c.Layer())
	if err == nil && own.Links != e.Links {
		err = &misfit{"its hook has other links, and several servers reduce among them"}
	}
	return err
}

// failed returns the error of a run. The error is a misfit if the user's model or trainer cannot take the samples of
// the case.
func (s Substitutes) failed(err error) error {
	if unfit := (*run.UnfitError)(nil); errors.As(err, &unfit) && (s.has(sdk.KindModel) || s.has(sdk.KindTrainer)) {
		return &misfit{err.Error()}
	}
	return err
}

// comparable returns a misfit if the run has a different model. The parameters of two models cannot be compared.
func (s Substitutes) comparable(c Case, r *result.Result) error {
	if !s.has(sdk.KindModel) {
		return nil
	}
	for _, e := range c.Expected() {
		if got := len(c.Head().parameters(r, e.Rank)); e.Params != nil && got != len(e.Params) {
			return &misfit{fmt.Sprintf("the model has %d parameters, the case has %d", got, len(e.Params))}
		}
	}
	return nil
}
