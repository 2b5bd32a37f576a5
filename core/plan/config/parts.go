package config

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/bytesize"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/spelling"
	"github.com/psbench/psbench/sdk"
)

// describe asks the plugin of an item for the item's part.
func (r *resolver) describe(ctx context.Context, item registry.Item) (sdk.Part, error) {
	parts, err := r.partsOf(ctx, r.bounded(item.Plugin))
	if err != nil {
		return sdk.Part{}, fmt.Errorf("plugin %s, of %s %s, cannot be asked for its parts: %w", item.Plugin.Name,
			item.Kind, item.Key, err)
	}
	return partOf(item, parts)
}

// bounded returns a plugin with the user's memory limit. The limit does not apply to psbench's own parts.
func (r *resolver) bounded(p registry.Plugin) registry.Plugin {
	if p.Name != registry.Builtin && r.PluginMemory != "" {
		n, _ := bytesize.Parse(r.PluginMemory) // the user's text was checked when it was given
		p.Memory = int64(n)
	}
	return p
}

// settableParts returns the chosen parts that have settings, in the order of their kinds.
func (r *resolver) settableParts() []choice {
	var out []choice
	for _, kind := range settable {
		if c, ok := r.chosen[kind]; ok {
			out = append(out, c)
		}
	}
	return out
}

// configureParts computes the effective settings of every part.
func (r *resolver) configureParts(ctx context.Context) error {
	byKind := map[sdk.Kind][]effective{}
	for _, c := range r.settableParts() {
		d, err := r.describe(ctx, c.Item)
		if err != nil {
			return err
		}
		if c.Kind == sdk.KindModel && d.SmallestBatch > r.BatchSize {
			return &RuleError{fmt.Errorf("%s is %d but model %s trains on batches of %d samples or more",
				r.name("batch_size"), r.BatchSize, c.Key, d.SmallestBatch)}
		}
		assignments, err := r.assignments(c, d)
		if err != nil {
			return err
		}
		if byKind[c.Kind], err = settingsOf(d, assignments); err != nil {
			return err
		}
	}
	if err := r.applyBounds(byKind); err != nil {
		return &RuleError{err}
	}
	for _, c := range r.settableParts() {
		d, err := r.describe(ctx, c.Item)
		if err != nil {
			return err
		}
		settings := byKind[c.Kind]
		raw, err := object(settings)
		if err != nil {
			return err
		}
		r.exp.Parts[c.Kind] = Part{
			Key: c.Key, Plugin: r.bounded(c.Plugin), Settings: raw,
			Elementwise: d.Timing != 0 && (r.exp.CUDA == nil || !r.exp.CUDA.whole), Adds: d.Adds, Answers: d.Plain(),
			Asynchronous: r.asynchronous(d, settings), Protocol: d.Protocol,
			RanksDiffer: d.RanksDiffer, Plans: d.Plans, OnArrival: d.Timing == sdk.OnArrival,
			Targets: d.Targets,
		}
		for _, s := range settings {
			r.settings = append(r.settings,
				result.Value{Key: fmt.Sprintf("%s.%s", c.Kind, s.name), Value: s.value, Origin: s.origin})
		}
	}
	return nil
}

// asynchronous reports whether a server with these settings answers before all of its trainers have pushed.
func (r *resolver) asynchronous(d sdk.Part, settings []effective) bool {
	i := slices.IndexFunc(settings, func(s effective) bool { return s.name == d.Quorum })
	if i < 0 {
		return d.Asynchronous
	}
	quorum := settings[i].number()
	return quorum > 0 && slices.ContainsFunc(r.exp.World.ServerRanks(), func(server int) bool {
		return quorum < float64(len(r.exp.World.TrainersOf(server)))
	})
}

// assignments returns the assignments for a chosen item, lowest layer first. d is the item's part.
func (r *resolver) assignments(c choice, d sdk.Part) ([]assignment, error) {
	out := slices.Clone(c.preset)
	if key, file := r.settingsFile(c.Kind); file != "" {
		byKey, err := partSettings(file, r.registry, c.Kind)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.name(key), err)
		}
		out = append(out, byKey[c.Key]...)
	}
	for _, a := range r.Config.settings {
		if routed := a.flag && r.takes != nil; routed && (a.kind != "" && a.kind != c.Kind || !r.takes(d, a.name)) {
			continue
		} else if routed || a.isFor(c.Kind, c.value) {
			out = append(out, a)
		}
	}
	return out, nil
}

// settingsFile returns the path of the file with settings for a kind, and the key of the option that gives it.
func (r *resolver) settingsFile(kind sdk.Kind) (key, file string) {
	switch kind {
	case sdk.KindServer:
		return "server_config_path", r.ServerConfigPath
	case sdk.KindTrainer:
		return "trainer_config_path", r.TrainerConfigPath
	default:
		return "", ""
	}
}

// settingsOf applies assignments to the settings of a part, lowest layer first.
func settingsOf(d sdk.Part, assignments []assignment) ([]effective, error) {
	var names []string
	out := make([]effective, len(d.Settings))
	index := map[string]int{}
	for i, s := range d.Settings {
		names = append(names, s.Name)
		index[s.Name] = i
		out[i] = effective{name: s.Name, value: option.Text(s.Default).Value(), origin: byDefault}
	}
	for _, a := range assignments {
		i, ok := index[a.name]
		if !ok {
			return nil, &UnknownSettingError{fmt.Sprintf("%s: %s %s has no setting %s%s", a.label, d.Kind, d.Key,
				quote.String(a.name),
				spelling.Hint(a.name, names, "", fmt.Sprintf("psbench list %s shows all", d.Kind)))}
		}
		value, err := option.Setting(a.label, a.value, d.Settings[i].Type)
		if err != nil {
			return nil, err
		}
		out[i].value, out[i].origin, out[i].given = value, a.origin, true
	}
	return out, nil
}

// effective is a setting with its effective value.
type effective struct {
	name   string
	value  any
	origin string
	given  bool // a layer gave the value
}

// object formats settings as a JSON object in the given order.
func object(settings []effective) (json.RawMessage, error) {
	fields := make([]string, len(settings))
	for i, s := range settings {
		value, err := json.Marshal(s.value)
		if err != nil {
			return nil, fmt.Errorf("setting %s cannot be written as JSON: %w", s.name, err)
		}
		fields[i] = fmt.Sprintf("%q:%s", s.name, value)
	}
	return json.RawMessage("{" + strings.Join(fields, ",") + "}"), nil
}

// configureInTrainer checks that the trainer's plugin has the in-trainer parts that the trainer will use. If the plugin
// does not include psbench's own in-trainer parts, the trainer gets only parts that were chosen explicitly.
func (r *resolver) configureInTrainer(ctx context.Context) error {
	trainer := r.chosen[sdk.KindTrainer]
	for _, kind := range registry.Kinds {
		if slices.Contains(settable, kind) {
			continue
		}
		c := r.chosen[kind]
		if !trainer.Plugin.Has(c.Plugin.Name) {
			if r.chosenByDefault(kind) {
				delete(r.chosen, kind)
				continue
			}
			return &RuleError{fmt.Errorf(
				"%s %s is of plugin %s but trainer %s is of plugin %s: they must be of the same plugin",
				kind, c.Key, c.Plugin.Name, trainer.Key, trainer.Plugin.Name)}
		}
		if err := r.checkIncluded(ctx, c); err != nil {
			return err
		}
		r.exp.InTrainer[kind] = c.Key
	}
	for _, kind := range registry.Isolable {
		if c := r.chosen[kind]; trainer.Plugin.Has(c.Plugin.Name) && !r.exp.Isolate[kind] {
			if err := r.checkIncluded(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// chosenByDefault reports whether the part of a kind is psbench's default. A part that the user or the registry chose
// is not the default.
func (r *resolver) chosenByDefault(kind sdk.Kind) bool {
	return r.sources[option.For(kind).Key].sort == fromDefault
}

// checkIncluded checks that the trainer's plugin provides a part that will run in the trainer's process.
func (r *resolver) checkIncluded(ctx context.Context, c choice) error {
	trainer, item := r.chosen[sdk.KindTrainer], c.Item
	if item.Plugin.Name != trainer.Plugin.Name {
		item.Plugin, item.File = trainer.Plugin, trainer.File
	}
	_, err := r.describe(ctx, item)
	return err
}

// finish lists the effective values and warns about values that have no effect.
func (r *resolver) finish(context.Context) error {
	values, err := r.optionValues()
	if err != nil {
		return err
	}
	for _, o := range option.All() {
		if r.exp.Ignores(o) && r.given(o.Key) {
			r.warn("%s has no effect: %s", r.name(o.Key), o.NoEffect)
		}
		if o.ZeroIsMax && values[o.Key] == json.Number(strconv.FormatUint(o.Max, 10)) {
			r.exp.Endless = fmt.Sprintf(
				"%s is %d s, a year, as 0 means: a run in which a process hangs may last that long", r.name(o.Key),
				o.Max)
			r.warn("%s", r.exp.Endless)
		}
		switch c, chosen := r.chosen[o.Kind]; {
		case o.Stands != "" || r.replaced(o.Key):
		case o.Key == "epochs" && r.exp.Length.Least > 0:
			r.exp.Values = append(r.exp.Values,
				result.Value{Key: o.Key, Value: values[o.Key], Origin: r.origin(o.Key) + undecided})
		case o.Type == option.Settings:
			r.exp.Values = append(r.exp.Values, r.settings...)
		case chosen:
			r.exp.Values = append(r.exp.Values, result.Value{Key: o.Key, Value: c.value, Origin: c.origin})
		case o.Key == Transport && r.exp.Auto:
			r.exp.Values = append(r.exp.Values,
				result.Value{Key: o.Key, Value: r.exp.Fabric.Name, Origin: derived + "everything runs on one host"})
		case o.Key == "listen" && r.Interface != "":
			r.exp.Values = append(r.exp.Values,
				result.Value{Key: o.Key, Value: r.exp.Listen, Origin: derived + "as --interface"})
		case o.Key == cudaSeed && r.exp.CUDA != nil && !r.given(o.Key):
			r.exp.Values = append(r.exp.Values,
				result.Value{Key: o.Key, Value: r.TorchSeed, Origin: derived + "as --torch-seed"})
		case o.Key == "report" && values[o.Key] != o.Default && !r.given(o.Key):
			r.exp.Values = append(r.exp.Values,
				result.Value{Key: o.Key, Value: r.Report, Origin: derived + r.name("stats") + " is " + r.Stats})
		case o.Kind == sdk.KindServer:
			r.exp.Values = append(r.exp.Values,
				result.Value{Key: o.Key, Value: "", Origin: derived + "there are no servers"})
		case o.Kind != "":
			r.exp.Values = append(r.exp.Values,
				result.Value{Key: o.Key, Value: "", Origin: derived + "the trainer has its own"})
		default:
			r.exp.Values = append(r.exp.Values, result.Value{Key: o.Key, Value: values[o.Key], Origin: r.origin(o.Key)})
		}
	}
	return nil
}

// optionValues returns the values of options by key, in the types of JSON.
func (c *Config) optionValues() (map[string]any, error) {
	data, err := json.Marshal(c.Options)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.UseNumber()
	var values map[string]any
	if err := dec.Decode(&values); err != nil {
		return nil, err
	}
	for _, o := range option.All() {
		if o.Type == option.List && values[o.Key] == nil { // the list was not given
			values[o.Key] = []any{}
		}
	}
	return values, nil
}
