package micro

import (
	"fmt"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/sdk"
)

// Given marks the values of a plan that the user set. The experiment decides all others.
type Given struct{ ServerPlace, Expect bool }

// Take makes the plan measure the parts of an experiment in the experiment's world.
func (p *Plan) Take(exp *config.Experiment, given Given) error {
	if exp.Service != sdk.ServiceGradients {
		return fmt.Errorf(
			"trainer %s needs servers of %s, but psbench comm measures servers of gradients: give none or trainer ddp",
			exp.Parts[sdk.KindTrainer].Key, exp.Service)
	}
	p.World, p.Server, p.Affinity, p.Aggregate = exp.World, exp.Parts[sdk.KindServer], exp.Affinity, exp.Aggregate
	if !given.ServerPlace {
		p.ServerPlace = exp.Place
	}
	p.Hook, p.HookLinks, p.HookExpect, p.Seed = exp.Parts[sdk.KindHook], exp.Links, p.Expect, exp.Seed
	if !given.Expect {
		p.Expect = expected(p.Server, Mean)
		p.HookExpect = expected(p.Hook, Part)
		switch {
		case p.Hook.Answers == sdk.AnswersAs("rpc"):
			p.HookExpect = p.Expect
		case p.HookLinks.Server && p.Expect != Mean: // another server changes the result of the hook
			p.HookExpect = Part
		}
	}
	p.Timeout, p.Listen, p.ListenName, p.InsecureNetwork = exp.Timeout, exp.Listen, exp.ListenName, exp.InsecureNetwork
	if exp.Endless != "" {
		p.Warnings = append(p.Warnings, exp.Endless)
	}
	return nil
}

// expected returns the answer that a part from another plugin declares. Without a declaration it returns Part, so that
// the part is asked: a server may compute a median, for example. For psbench's own parts it returns builtin.
func expected(part config.Part, builtin Expect) Expect {
	switch {
	case part.Key == "" || part.Plugin.Name == registry.Builtin:
		return builtin
	case part.Answers == sdk.AnswersMean:
		return Mean
	case part.Answers == sdk.AnswersSum:
		return Sum
	}
	return Part
}
