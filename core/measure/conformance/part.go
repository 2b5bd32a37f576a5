package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/psbench/psbench/internal/points"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/sdk"
)

// trial checks one point of a contract with runs.
type trial struct {
	name, promise string
	unseen        string // why no run can check the point; "" if a run can
	run           func(ctx context.Context) error
}

// errUnseen is the error of a trial that could not check its point.
type errUnseen string

func (e errUnseen) Error() string { return string(e) }

// part checks all points of a part's contract. It stops at the first point that the part breaks.
func (c *Check) part(ctx context.Context, part sdk.Part) error {
	if err := c.begin(part); err != nil {
		return err
	}
	c.inputs, c.fits, c.held, c.numbers = nil, "", "", false
	if err := c.begun(ctx, part); err != nil {
		return err
	}
	if name := c.missing(part, c.first); name != "" {
		return c.needsSetting(part, name)
	}
	for _, t := range c.trials(part) {
		err := error(errUnseen(t.unseen))
		if t.unseen == "" {
			err = t.run(ctx)
		}
		var unseen errUnseen
		o := outcome{Kind: part.Kind, Key: part.Key, Point: t.name, Promise: t.promise}
		switch {
		case endsCheck(err):
			return err
		case errors.As(err, &unseen):
			o.Outcome, o.Why = pointUnseen, unseen.Error()
		case err != nil:
			c.failed++
			o.Outcome, o.Why = pointFailed, err.Error()
			return c.tell(o)
		default:
			o.Outcome = pointKept
		}
		if err := c.tell(o); err != nil {
			return err
		}
	}
	c.kept++
	if c.JSON {
		return nil
	}
	return c.speed(ctx, part)
}

// begun records how the smallest run of a part ended.
func (c *Check) begun(ctx context.Context, part sdk.Part) error {
	err := c.hold(ctx, part)
	if err == nil {
		_, err = c.smallest(ctx, part)
	}
	if endsCheck(err) {
		return err
	}
	c.first = err
	return nil
}

// needsSetting records that a part cannot be checked before the user gives one of its settings.
func (c *Check) needsSetting(part sdk.Part, name string) error {
	give := fmt.Sprintf("--set %s.%s=VALUE", part.Kind, name)
	c.needs = append(c.needs, fmt.Sprintf("%s %s needs a value for its setting %s: give %s",
		part.Kind, part.Key, name, give))
	return c.tell(outcome{
		Kind: part.Kind, Key: part.Key, Point: "settings", Outcome: pointUnseen,
		Promise: "a part is tried with settings that it takes",
		Why:     fmt.Sprintf("not tried: give %s, because the part says: %v", give, c.first),
	})
}

// trials returns the trials of a part. The ranks of a run check some of the points themselves. For the other points a
// trial examines the results of runs.
func (c *Check) trials(part sdk.Part) (trials []trial) {
	special := map[string]func(context.Context) error{
		"settings":  func(ctx context.Context) error { return c.settings(ctx, part) },
		"leftovers": func(ctx context.Context) error { return c.leftovers(ctx, part) },
	}
	switch part.Kind {
	case sdk.KindHook, sdk.KindServer:
		c.valuesTrial(part, special)
	case sdk.KindData:
		c.dataTrials(part, special)
	case sdk.KindTrainer:
		c.trainerTrials(part, special)
	}
	for _, p := range c.pointsOf(part) {
		t := trial{name: p.Name, promise: p.Promise, unseen: p.Unseen, run: special[p.Name]}
		if t.run == nil {
			t.run = func(ctx context.Context) error { return c.point(ctx, part, p) }
		}
		if t.name == points.Values && c.asks(part) {
			t.promise = askedPromise
		}
		if t.name == "leftovers" {
			t.promise = "a part that has been closed leaves no process, no temporary file and, of a plugin in Go, no " +
				"goroutine"
		}
		trials = append(trials, t)
		if t.name == "settings" && len(part.Settings) > 0 && len(c.refusalsOf(part)) == 0 {
			trials = append(trials, trial{
				name: "range", promise: "settings out of range are refused with an error",
				unseen: fmt.Sprintf("not tried: name a value that it must refuse, --refuses %s.%s=VALUE",
					part.Kind, part.Settings[0].Name),
			})
		}
	}
	return trials
}

func (c *Check) pointsOf(part sdk.Part) []harness.Point {
	about := &harness.Subject{Part: part, RanksDiffer: c.RanksDiffer, DenseOnly: c.DenseOnly}
	for _, r := range c.refusalsOf(part) {
		about.Refused = append(about.Refused, r.name)
	}
	return points.Of(about)
}
