package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugintest/points"
)

// ExpectAny is what is expected of a hook or server whose values are not to be compared.
const ExpectAny sdk.Answers = "any"

// answers is what a part is to answer.
func (c *Check) answers(part sdk.Part) sdk.Answers {
	switch c.Expect {
	case "":
		return part.Answers
	case ExpectAny:
		return ""
	}
	return c.Expect
}

// reduces says that a part leaves gradients that somebody could expect.
func reduces(part sdk.Part) bool {
	return part.Kind == sdk.KindHook || part.Kind == sdk.KindServer && part.Serves == sdk.ServiceGradients
}

// checkExpect says what is wrong with what the user expects of the parts that are checked.
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

// valuesTrial has a line that says why where no value is compared: else ranks compare every element.
func (c *Check) valuesTrial(part sdk.Part, trials map[string]func(context.Context) error) {
	part.Answers = c.answers(part)
	if part.Answerer() != nil {
		return
	}
	trials[points.Values] = func(context.Context) error {
		c.unchecked++
		switch {
		case c.Expect == ExpectAny:
			return errUnseen("--expect is any")
		case part.Answers == sdk.AnswersOwn:
			return errUnseen("it says itself what it answers, which psbench comm and a test ask it; --expect says what to compare it with here")
		}
		return errUnseen("it does not declare what it answers, and --expect does not say it")
	}
}
