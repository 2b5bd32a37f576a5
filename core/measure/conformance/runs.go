package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/internal/points/inrun"
	"github.com/psbench/psbench/sdk"
)

// patience is the default timeout, in seconds, for a part to respond.
const patience = 10

// options are the options of a run, with settings by kind.
type options map[string]any

// set replaces the settings of the part of this kind. nil removes the settings.
func (o options) set(kind sdk.Kind, settings map[string]any) {
	if o["set"] == nil {
		o["set"] = map[string]any{}
	}
	all := o["set"].(map[string]any)
	if all[string(kind)] = settings; settings == nil {
		delete(all, string(kind))
	}
}

// base returns the options of the smallest run with the part. psbench's own parts for trials take all other places.
func (c *Check) base(part sdk.Part) (options, error) {
	o := options{
		"trainer": inrun.Key, "data": inrun.Key, "ntrainer": 1, "nserver": 0,
		"epochs": 1, "batch_size": harness.MaxBatch, "warmup": "none", "rpc_timeout": patience,
	}
	if part.Kind == sdk.KindTrainer {
		return o, c.trainerBase(part, o)
	}
	if part.Kind != sdk.KindModel {
		o["model"] = inrun.Key
		o.set(sdk.KindModel, map[string]any{"dense_only": c.DenseOnly})
	}
	switch part.Kind {
	case sdk.KindServer:
		return o, c.serverBase(part, o)
	case sdk.KindHook:
		o["ddp_hook"] = part.Key
		if slices.Contains(part.Links, sdk.LinkServer) {
			o["nserver"] = 1
		}
	case sdk.KindCriterion:
		o["create_criterion"] = part.Key
	case sdk.KindModel:
		o["model"] = part.Key
	case sdk.KindData:
		o["trainer"], o["data"], o["ddp_hook"], o["batch_size"] = inrun.DataKey, part.Key, "noop", 5
		if c.Model {
			delete(o, "model")
			delete(o, "set")
		}
	}
	return o, nil
}

// serverBase chooses a server and the service that it offers.
func (c *Check) serverBase(part sdk.Part, o options) error {
	o["server"], o["nserver"] = part.Key, 1
	switch part.Serves {
	case sdk.ServiceGradients:
		o["ddp_hook"] = "rpc"
	case sdk.ServiceTables:
		o["trainer"], o["nserver"], o["ddp_hook"] = inrun.TablesKey, 2, "noop"
	case sdk.ServiceParameters:
		o["trainer"], o["ddp_hook"] = inrun.ParametersKey, "rpc"
		delete(o, "model")
		delete(o, "set")
		if c.Model {
			return nil
		}
		model, err := c.heldModel()
		o["model"] = model
		return err
	}
	return nil
}

// heldModel returns the key of the model for a server of parameters. This is the plugin's model that worked with the
// server, otherwise the plugin's first model.
func (c *Check) heldModel() (string, error) {
	models := c.models()
	switch {
	case c.held != "":
		return c.held, nil
	case len(models) > 0:
		return models[0], nil
	}
	return "", errors.New("a server of parameters needs a model of the same plugin, which has none: serve a model, too, or psbench's own (plugins.Parts)")
}

// models returns the keys of all models that the plugin serves. The plugin's own models come first.
func (c *Check) models() (keys []string) {
	for _, part := range c.parts {
		if part.Kind == sdk.KindModel {
			keys = append(keys, part.Key)
		}
	}
	if c.linked {
		keys = append(keys, "mlp")
	}
	return keys
}

// hold finds a model for a server of parameters: the first of the plugin's models with which a run can begin.
func (c *Check) hold(ctx context.Context, part sdk.Part) error {
	if part.Kind != sdk.KindServer || part.Serves != sdk.ServiceParameters || c.Model {
		return nil
	}
	models := c.models()
	for _, model := range models {
		c.held = model
		o, err := c.smallestOptions(part)
		if err == nil {
			err = c.try(ctx, o)
		}
		if err == nil || errors.Is(err, monitor.ErrInterrupted) {
			return err
		}
	}
	if c.held = ""; len(models) > 0 {
		c.held = models[0]
	}
	return nil
}

// point makes ranks check a point of the contract, in one run for each number of ranks.
func (c *Check) point(ctx context.Context, part sdk.Part, point harness.Point) error {
	for _, ranks := range point.Sizes() {
		if err := c.pointOf(ctx, part, point, ranks); err != nil {
			return err
		}
	}
	return nil
}

func (c *Check) pointOf(ctx context.Context, part sdk.Part, point harness.Point, ranks int) error {
	o, err := c.base(part)
	if err != nil {
		return err
	}
	o["ntrainer"] = ranks
	if point.Large {
		o.set(sdk.KindModel, map[string]any{"dense_only": c.DenseOnly, "large": true})
	}
	o["batch_size"] = c.samples(point)
	if point.Passes > 1 {
		o["warmup"] = "full"
	}
	o.set(sdk.KindTrainer, c.trying(part, point.Name))
	out, err := c.run(ctx, o)
	if err != nil {
		return err
	}
	return compare(out)
}

// samples returns the number of samples in the largest batch of a check point.
func (c *Check) samples(point harness.Point) int {
	n := cmp.Or(point.Samples, harness.MaxBatch)
	if c.Largest > 0 {
		n = min(n, c.Largest)
	}
	return n
}

// trying returns the settings with which psbench's own trainer checks a point.
func (c *Check) trying(part sdk.Part, point string) map[string]any {
	part.Answers = c.answers(part)
	about := &harness.Subject{Part: part, RanksDiffer: c.RanksDiffer, DenseOnly: c.DenseOnly, Largest: c.Largest}
	return inrun.SettingsOf(about, point).Values()
}

// run executes one run.
func (c *Check) run(ctx context.Context, o options) (*result.Result, error) {
	return c.runWith(ctx, o, func(*config.Experiment) {})
}

// try starts a run and ends it before the first pass.
func (c *Check) try(ctx context.Context, o options) error {
	e, err := c.experiment(ctx, o)
	if err != nil {
		return err
	}
	return run.Try(ctx, e, c.Run)
}

// runWith executes one run after a change to the resolved experiment.
func (c *Check) runWith(ctx context.Context, o options, change func(*config.Experiment)) (*result.Result, error) {
	e, err := c.experiment(ctx, o)
	if err != nil {
		return nil, err
	}
	change(e)
	how := c.Run
	how.Summarize = true
	if c.watched != nil {
		how.Environment, how.Closed = []string{"TMPDIR=" + c.watched.folder}, c.watched.look
	}
	out, err := run.Run(ctx, e, how)
	if err == nil && len(out.Tables) > 0 {
		c.width = out.Tables[0].Width
	}
	return out, err
}

// experiment resolves the user's configuration together with the options of a run.
func (c *Check) experiment(ctx context.Context, o options) (*config.Experiment, error) {
	sources := c.Configuration
	sources.Extra = append(slices.Clone(sources.Extra), config.Layer{Origin: "check", Values: o})
	sources.Takes = c.takes
	if model, ok := o["model"]; ok { // the user's model serves only data and servers of parameters
		sources.Over = &config.Layer{Origin: "check", Values: map[string]any{"model": model}}
	}
	e, err := c.resolve(ctx, sources)
	if err != nil {
		return nil, &configError{err}
	}
	return e, nil
}

// resolve turns a configuration into an experiment.
func (c *Check) resolve(ctx context.Context, sources config.Sources) (*config.Experiment, error) {
	merged, err := config.Merge(sources)
	if err != nil {
		return nil, err
	}
	known, err := merged.LoadRegistry(c.Registry, "")
	if err != nil {
		return nil, err
	}
	if err := known.Replace(c.file()); err != nil {
		return nil, err
	}
	known.Hide(func(_ sdk.Kind, key string) bool { return inrun.IsKey(key) })
	return merged.Resolve(ctx, known, c.Catalogue)
}

// configError is an error in the user's configuration, which is no fault of the part.
type configError struct{ error }

func (e *configError) Unwrap() error { return e.error }

// endsCheck reports whether an error must end the whole check because no part caused it.
func endsCheck(err error) bool {
	var config *configError
	return errors.Is(err, monitor.ErrInterrupted) || errors.As(err, &config)
}

// compare returns an error if ranks differ in a value that must be equal on all ranks.
func compare(r *result.Result) error {
	var first *result.Process
	for i := range r.Processes {
		p := &r.Processes[i]
		if p.Kind != string(sdk.KindTrainer) {
			continue
		}
		if first == nil {
			first = p
		}
		for _, what := range slices.Sorted(maps.Keys(p.Facts)) {
			if here, there := p.Facts[what], first.Facts[what]; here != there {
				return fmt.Errorf("%s is %s on %s and %s on %s", what, there, first.Name, here, p.Name)
			}
		}
	}
	return nil
}
