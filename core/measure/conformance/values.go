package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/psbench/psbench/core/measure/micro"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/internal/comm/bench"
	"github.com/psbench/psbench/internal/points"
	"github.com/psbench/psbench/sdk"
)

// ExpectAny accepts every answer of a hook or server.
const ExpectAny sdk.Answers = "any"

// answers returns the answer that a part must give.
func (c *Check) answers(part sdk.Part) sdk.Answers {
	switch c.Expect {
	case "":
		return part.Answers
	case ExpectAny:
		return ""
	}
	return c.Expect
}

// reduces reports whether a part is expected to leave certain values in gradients.
func reduces(part sdk.Part) bool {
	return part.Kind == sdk.KindHook || part.Kind == sdk.KindServer && part.Serves == sdk.ServiceGradients
}

// checkExpect returns an error if the user's --expect does not fit the checked parts.
func (c *Check) checkExpect() error {
	if c.Expect == "" {
		return nil
	}
	some := false
	for _, part := range c.parts {
		if c.Key != "" && part.Key != c.Key || !reduces(part) {
			continue
		}
		some = true
		if part.Answers = c.answers(part); part.Answers != "" {
			if err := part.CheckAnswers(); err != nil {
				return fmt.Errorf("%s %s: --expect is %w", part.Kind, part.Key, err)
			}
		}
	}
	if !some {
		return errors.New("--expect says what a hook or a server of gradients answers, but no such part is checked")
	}
	return nil
}

// valuesTrial adds a trial that explains why no values are compared. If the answer of a part is known, no trial is
// needed, because ranks compare every element.
func (c *Check) valuesTrial(part sdk.Part, trials map[string]func(context.Context) error) {
	part.Answers = c.answers(part)
	if part.Answerer() != nil {
		return
	}
	trials[points.Values] = func(ctx context.Context) error {
		err := error(errUnseen("it does not declare what it answers, and --expect does not say it"))
		switch {
		case c.Expect == ExpectAny:
			err = errUnseen("--expect is any")
		case c.asks(part):
			err = c.asked(ctx, part, err)
		}
		if unseen := errUnseen(""); errors.As(err, &unseen) {
			c.unchecked++
		}
		return err
	}
}

// askedPromise is the promise that psbench checks if a part states its own answers.
const askedPromise = "every element is what the part itself says that it answers, the first and the last of a " +
	"bucket too: of 1, 17 and 1,000,003 elements and of rows, for 3 trainers"

// asks reports whether the part itself must state its answers. A part in Go may implement sdk.Answerer. A part in
// another language declares that it states them. An elementwise server without a declaration computes its answers, and
// psbench does not ask it.
func (c *Check) asks(part sdk.Part) bool {
	part.Answers = c.answers(part)
	own := part.Answers == sdk.AnswersOwn
	return part.Answerer() == nil && c.Expect != ExpectAny && (own || !part.Protocol && part.Timing == 0)
}

// asked compares every element with the answer that the part itself computes. It uses rounds of psbench comm, measured
// by processes of the part's plugin. If the part does not state its answers, asked returns the error silent.
func (c *Check) asked(ctx context.Context, part sdk.Part, silent error) error {
	for _, sparse := range []bool{false, true} {
		if sparse && c.DenseOnly {
			continue
		}
		o, err := c.training(part, part.Key)
		if err != nil {
			return err
		}
		o["ntrainer"] = 3
		e, err := c.experiment(ctx, o)
		if err != nil {
			return err
		}
		plan := askingPlan(part, e, sparse)
		if err := plan.Check(); err != nil {
			return err
		}
		out, err := micro.Run(ctx, plan, micro.Options{Options: c.Run.Options, Progress: micro.Silent})
		if out == nil {
			return err
		}
		for _, row := range out.Rows {
			switch {
			case row.Void():
				return fmt.Errorf("%s, which is not what its Answer says", row.Mismatch)
			case row.Unchecked != "" && part.Answers == sdk.AnswersOwn:
				return fmt.Errorf("it declares %q, but %s", string(sdk.AnswersOwn), row.Unchecked)
			case row.Unchecked != "":
				return silent
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// askingPlan returns a plan with a few rounds, in which psbench asks a hook or a server for its answers.
func askingPlan(part sdk.Part, e *config.Experiment, sparse bool) *micro.Plan {
	const width = 97
	p := &micro.Plan{
		Operations: []*bench.Operation{bench.PushPull},
		Modes:      []micro.Mode{micro.Fresh}, Places: []micro.Place{micro.InPlace},
		Sizes: []int{4, 4 * 17, 4 * 1_000_003}, Width: width, Density: 0.5, World: e.World, Seed: e.Seed,
		Server: e.Parts[sdk.KindServer], Expect: micro.Part,
		Rounds: 3, Seconds: 1, Repeat: 1, Timeout: e.Timeout, Listen: e.Listen,
	}
	if sparse {
		p.Sparse, p.Sizes = true, []int{4 * width, 13 * 4 * width, 4099 * 4 * width}
	}
	if part.Kind == sdk.KindHook {
		p.Operations, p.Hook, p.HookLinks = []*bench.Operation{bench.Hook}, e.Parts[sdk.KindHook], e.Links
		p.HookExpect, p.Expect = micro.Part, micro.Mean
	}
	return p
}
