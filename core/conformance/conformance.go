// Package conformance holds the parts of a plugin, in whatever language it is, to the contracts
// of their kinds: each point is a small run, in which psbench's own trainer carries it out on the
// part. What ends the run is what is wrong with the part.
package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/psbench/psbench/core/config"
	"github.com/psbench/psbench/core/monitor"
	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/core/run"
	"github.com/psbench/psbench/core/screen"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
	"github.com/psbench/psbench/sdk/plugintest/points"
)

// ErrFailed says that a part breaks its contract; the output says where.
var ErrFailed = errors.New("the plugin does not keep the contract")

// key is that of psbench's own parts that try others: trainer, model and data.
const key = "conformance"

// Check is what is needed to check a plugin.
type Check struct {
	Program []string // the executable, by its absolute path, and its arguments
	Key     string   // of the parts to check; "": all
	// Registry is the built-in one, and Configuration what the user gave.
	Registry      []byte
	Configuration config.Sources
	Catalogue     config.Catalogue
	Run           run.Options
	// RanksDiffer says that hooks and servers may leave ranks with different results, DenseOnly
	// that they are not made for sparse gradients.
	RanksDiffer, DenseOnly bool
	Out                    io.Writer
	Width                  int // of the screen, in columns; 0: no screen

	folder                  string
	parts                   []sdk.Part
	linked                  bool // the plugin serves psbench's parts, too
	kept, failed, unchecked int
}

// Carry checks the parts one after the other and writes a line for each point. The error is
// ErrFailed where a part breaks its contract.
func (c *Check) Carry(ctx context.Context) (err error) {
	plugin := registry.Plugin{Name: "checked", Command: c.Program}
	if err := c.describe(ctx, plugin); err != nil {
		return err
	}
	if c.folder, err = os.MkdirTemp("", "psbench-check"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(c.folder) }()
	if err := c.register(plugin); err != nil {
		return err
	}
	for _, part := range c.parts {
		if c.Key != "" && part.Key != c.Key {
			continue
		}
		if err := c.part(ctx, part); err != nil {
			return err
		}
	}
	switch checked := c.kept + c.failed + c.unchecked; {
	case checked == 0 && c.Key != "":
		return fmt.Errorf("the plugin has no part %s", quote.String(c.Key))
	case checked == 0:
		return errors.New("the plugin has no part that is not psbench's own")
	}
	if err := c.line(0, "%d kept the contract, %d did not, %d not checked", c.kept, c.failed, c.unchecked); err != nil {
		return err
	}
	if c.failed > 0 {
		return ErrFailed
	}
	return nil
}

// ranked are the kinds that have processes of their own, which in-trainer kinds have not.
var ranked = []sdk.Kind{sdk.KindTrainer, sdk.KindServer, sdk.KindHook, sdk.KindCriterion, sdk.KindData, sdk.KindModel}

// checkable are the kinds whose points psbench's own trainer carries out.
var checkable = []sdk.Kind{sdk.KindServer, sdk.KindHook, sdk.KindCriterion, sdk.KindModel}

// describe asks the plugin for its parts. Those of psbench that it links are not its own.
func (c *Check) describe(ctx context.Context, plugin registry.Plugin) error {
	own, err := registry.Load(c.Registry, "")
	if err != nil {
		return err
	}
	all, err := c.Catalogue(ctx, plugin)
	for _, part := range all {
		known := slices.ContainsFunc(own.Items(part.Kind), func(item registry.Item) bool { return item.Key == part.Key })
		switch {
		case known || part.Key == key:
			c.linked = true
		case slices.Contains(ranked, part.Kind):
			c.parts = append(c.parts, part)
		}
	}
	return err
}

// register writes a registry file that names the plugin's parts and psbench's own that try them.
func (c *Check) register(plugin registry.Plugin) error {
	own := registry.Entry{Plugin: registry.Builtin}
	program := registry.Program{Command: plugin.Command}
	if c.linked {
		program.Includes = []string{registry.Builtin}
	}
	file := registry.File{
		Plugins:    map[string]registry.Program{plugin.Name: program},
		TrainerMap: map[string]registry.TrainerEntry{key: {Entry: own}},
		ModelMap:   map[string]registry.ModelEntry{key: {Entry: own}},
		DataMap:    map[string]registry.Entry{key: own},
		ServerMap:  map[string]registry.ServerEntry{}, DDPHookMap: map[string]registry.HookEntry{}, CriterionMap: map[string]registry.Entry{},
	}
	theirs := registry.Entry{Plugin: plugin.Name}
	for _, part := range c.parts {
		switch part.Kind {
		case sdk.KindServer:
			file.ServerMap[part.Key] = registry.ServerEntry{Entry: theirs}
		case sdk.KindHook:
			file.DDPHookMap[part.Key] = registry.HookEntry{Entry: theirs}
		case sdk.KindCriterion:
			file.CriterionMap[part.Key] = theirs
		case sdk.KindTrainer:
			file.TrainerMap[part.Key] = registry.TrainerEntry{Entry: theirs}
		case sdk.KindModel:
			file.ModelMap[part.Key] = registry.ModelEntry{Entry: theirs}
		}
	}
	data, err := json.Marshal(file)
	if err != nil {
		return err
	}
	return os.WriteFile(c.file(), data, 0o600)
}

func (c *Check) file() string { return filepath.Join(c.folder, "registry.json") }

// part carries out all points of a part, up to the first that it does not keep.
func (c *Check) part(ctx context.Context, part sdk.Part) error {
	if err := c.line(0, "%s %s", part.Kind, part.Key); err != nil {
		return err
	}
	trials := c.trials(part)
	if trials == nil {
		c.unchecked++
		return c.line(8, "  --    not checked: no run carries out points of %s; sdk/plugintest does", title(part))
	}
	for _, t := range trials {
		switch err := t.run(ctx); {
		case errors.Is(err, monitor.ErrInterrupted):
			return err
		case err != nil:
			c.failed++
			if err := c.line(20, "  FAIL  %-11s %s", t.name, quote.Lines(err.Error())); err != nil {
				return err
			}
			return c.line(20, "        %-11s it must keep this: %s", "", t.promise)
		}
		if err := c.line(20, "  ok    %-11s %s", t.name, t.promise); err != nil {
			return err
		}
	}
	c.kept++
	return c.speed(ctx, part)
}

// trial is a point as runs try it.
type trial struct {
	name, promise string
	run           func(ctx context.Context) error
}

// trials are those of a part, none where no run can tell.
func (c *Check) trials(part sdk.Part) (trials []trial) {
	switch {
	case part.Kind == sdk.KindTrainer && part.Needs == sdk.ServiceGradients:
		return c.trainerTrials(part)
	case !slices.Contains(checkable, part.Kind), part.Kind == sdk.KindServer && part.Serves != sdk.ServiceGradients:
		return nil
	}
	about := points.Subject{Part: part, RanksDiffer: c.RanksDiffer, DenseOnly: c.DenseOnly}
	for _, p := range about.Points() {
		if p.InRun() {
			trials = append(trials, trial{p.Name, p.Promise, func(ctx context.Context) error { return c.point(ctx, part, p) }})
		}
	}
	return trials
}

// patience is how long a run waits for a part, in seconds, where the user does not say.
const patience = 10

// title is a kind with what it serves.
func title(part sdk.Part) string {
	switch part.Kind {
	case sdk.KindServer:
		return "a server of " + string(part.Serves)
	case sdk.KindData:
		return "data"
	case sdk.KindTrainer:
		return "a trainer that needs " + string(part.Needs)
	}
	return "a " + string(part.Kind)
}

// point carries a point out in a run.
func (c *Check) point(ctx context.Context, part sdk.Part, point points.Point) error {
	values := chosen(part, part.Key)
	maps.Copy(values, map[string]any{
		"trainer": key, "data": key, "ntrainer": max(1, point.Ranks), "epochs": 1, "batch_size": points.MaxBatch, "warmup": "none", "rpc_timeout": patience,
	})
	if point.Passes > 1 {
		values["warmup"] = "full"
	}
	set := map[string]any{"trainer": map[string]any{
		"point": point.Name, "kind": string(part.Kind), "links": links(part), "timing": int(part.Timing), "asynchronous": part.Asynchronous,
		"ranks_differ": c.RanksDiffer, "dense_only": c.DenseOnly,
	}}
	if values["set"] = set; part.Kind != sdk.KindModel {
		values["model"] = key
		set["model"] = map[string]any{"dense_only": c.DenseOnly}
	}
	out, err := c.run(ctx, values)
	if err != nil {
		return err
	}
	return compare(out)
}

func links(part sdk.Part) []string {
	list := []string{}
	for _, link := range part.Links {
		list = append(list, string(link))
	}
	return list
}

// chosen are the options that put the part of a key into a run in the place of part.
func chosen(part sdk.Part, key string) map[string]any {
	switch part.Kind {
	case sdk.KindServer:
		return map[string]any{"nserver": 1, "server": key, "ddp_hook": "rpc"}
	case sdk.KindHook:
		servers := 0
		if slices.Contains(part.Links, sdk.LinkServer) {
			servers = 1
		}
		return map[string]any{"nserver": servers, "ddp_hook": key}
	case sdk.KindCriterion:
		return map[string]any{"nserver": 0, "create_criterion": key}
	case sdk.KindTrainer:
		return map[string]any{"nserver": 0, "trainer": key}
	}
	return map[string]any{"nserver": 0, "model": key}
}

// run carries out one run.
func (c *Check) run(ctx context.Context, values map[string]any) (*result.Result, error) {
	sources := c.Configuration
	sources.Extra = append(slices.Clone(sources.Extra), config.Layer{Origin: "check", Values: values})
	merged, err := config.Merge(sources)
	if err != nil {
		return nil, err
	}
	known, err := registry.Load(c.Registry, "", c.file())
	if err != nil {
		return nil, err
	}
	e, err := merged.Resolve(ctx, known, c.Catalogue)
	if err != nil {
		return nil, err
	}
	return run.Run(ctx, e, c.Run)
}

// compare compares what the ranks say must be the same on all.
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

// line writes one, broken where the screen ends; what follows is indented.
func (c *Check) line(indent int, format string, args ...any) error {
	page := screen.Page{Width: c.Width}
	page.Line(indent, fmt.Sprintf(format, args...))
	_, err := page.WriteTo(c.Out)
	return err
}
