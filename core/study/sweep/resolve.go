package sweep

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

// checkKey is the option that makes runs check their reductions.
const checkKey = "check"

// checkBase turns the base of the specification into a configuration layer. It returns an error if an axis sets a value
// of the base too, or if a sweep does not allow the value.
func (b *maker) checkBase() error {
	axes := map[string]bool{}
	for _, a := range b.axes {
		for _, key := range a.keys() {
			axes[key] = true
		}
	}
	for _, given := range slices.Sorted(maps.Keys(b.spec.Base)) {
		key := keyOf(given)
		o, known := option.Of(key)
		if known && (o.Group == "output" || key == "config") {
			return fmt.Errorf("base of %s sets %s, which a run of a sweep cannot have", b.spec.origin,
				quote.Word(given))
		}
		if axes[key] {
			return fmt.Errorf("base of %s sets %s, which is an axis too: leave one of them out", b.spec.origin,
				quote.Word(given))
		}
	}
	var err error
	if b.Sources.Flags != nil {
		b.Sources.Flags.Visit(func(f *pflag.Flag) {
			if key, _ := option.OfFlag(f); axes[key] && err == nil {
				err = fmt.Errorf("--%s is given, but %s is an axis too: leave one of them out", f.Name, key)
			}
		})
	}
	base := maps.Clone(b.spec.Base)
	if base == nil {
		base = map[string]any{}
	}
	if _, given := base[checkKey]; !given && (b.spec.Check == nil || *b.spec.Check) {
		base[checkKey] = true
	}
	b.Sources.Base = &config.Layer{Origin: "base of " + b.spec.origin, Values: base}
	return err
}

// resolve checks the configuration of a cell and sets all fields of the cell that its runs need.
func (b *maker) resolve(ctx context.Context, places []int, c *Cell) error {
	values, build := b.values(places)
	c.Binary = b.Program
	if build != "" {
		program, registryFile, err := b.builds.find(build)
		if err != nil {
			return err
		}
		if c.Binary = program; registryFile != "" {
			if values["registry"], err = b.registriesWith(values, registryFile); err != nil {
				return err
			}
		}
	}
	conf, err := b.merge(values)
	if err != nil {
		return err
	}
	reg, err := b.registry(conf)
	if err != nil {
		return err
	}
	exp, err := conf.Resolve(ctx, reg, b.catalogue)
	if err != nil {
		return err
	}
	if b.Across {
		exp = exp.Across()
	}
	if err := b.take(c, exp); err != nil {
		return err
	}
	if c.Binary != b.Program {
		given := slices.DeleteFunc(slices.Clone(exp.Values), func(v result.Value) bool {
			across := b.Across && v.Key == config.Transport // the other psbench does not derive the transport
			return !across && (strings.HasPrefix(v.Origin, "default") || config.Derived(v))
		})
		if c.Config, err = b.effective(ctx, c.Binary, given); err != nil {
			return fmt.Errorf("build %s: %w", quote.Word(build), err)
		}
	}
	for key := range b.settings(places) {
		b.used[key] = true
	}
	if c.Binary == b.Program {
		if err := b.makeParts(ctx, exp); err != nil {
			return err
		}
		if err := b.try(ctx, exp); err != nil {
			return err
		}
	}
	for _, w := range exp.Warnings {
		b.notes[w]++
	}
	needed, err := b.matters(*c, exp)
	if err != nil {
		return err
	}
	b.experiments[len(b.experiments)-1] = hash(needed.experiment(b.builds.sums))
	c.Expected = expected(exp)
	return nil
}

// values returns a cell's configuration layer and build. places has the index of the cell's value on each axis.
func (b *maker) values(places []int) (values map[string]any, build string) {
	values = map[string]any{}
	set := map[string]any{}
	for i, a := range b.axes {
		for key, item := range a.values[places[i]].set {
			kind, name, isSetting := strings.Cut(key, ".")
			switch {
			case key == BuildAxis:
				build = label(item)
			case isSetting:
				if set[kind] == nil {
					set[kind] = map[string]any{}
				}
				set[kind].(map[string]any)[name] = item
			default:
				values[key] = item
			}
		}
	}
	if len(set) > 0 {
		values["set"] = set
	}
	return values, build
}

// settings returns the settings of parts, as KIND.SETTING, that the axes set for a cell.
func (b *maker) settings(places []int) map[string]bool {
	settings := map[string]bool{}
	for i, a := range b.axes {
		for key := range a.values[places[i]].set {
			if strings.Contains(key, ".") {
				settings[key] = true
			}
		}
	}
	return settings
}

// unused reports whether a cell has a setting that no part in any cell has.
func (b *maker) unused(cell int) bool {
	for key := range b.settings(b.placesOf(cell)) {
		if !b.used[key] {
			return true
		}
	}
	return false
}

// placesOf returns the index of the cell's value on each axis.
func (b *maker) placesOf(cell int) []int {
	places := make([]int, len(b.axes))
	for i := len(places) - 1; i >= 0; i-- {
		n := len(b.axes[i].values)
		places[i], cell = cell%n, cell/n
	}
	return places
}

func (b *maker) merge(values map[string]any) (*config.Config, error) {
	sources := b.Sources
	sources.Over = &config.Layer{Origin: b.spec.axesPlace(), Values: values}
	return config.Merge(sources)
}

// axesPlace names the axes in error messages about their values.
func (s *Spec) axesPlace() string {
	if s.origin == flagOrigin {
		return s.origin
	}
	return "axes of " + s.origin
}

// registriesWith returns the registry files of a cell plus the given file.
func (b *maker) registriesWith(values map[string]any, file string) (any, error) {
	conf, err := b.merge(values)
	if err != nil {
		return nil, err
	}
	var all []any
	for _, name := range append(slices.Clone(conf.Registry), file) {
		all = append(all, name)
	}
	return all, nil
}

// registry returns the registry of a configuration. It reads each registry only once.
func (b *maker) registry(conf *config.Config) (*registry.Registry, error) {
	key := fmt.Sprint(conf.NoUserRegistry, conf.Registry)
	if reg, ok := b.registries[key]; ok {
		return reg, nil
	}
	reg, err := b.Registry(conf)
	if err == nil {
		b.registries[key] = reg
	}
	return reg, err
}

// said is a plugin's answer to the question which parts it has.
type said struct {
	parts []sdk.Part
	err   error
}

// catalogue returns the parts of a plugin. It asks each plugin only once.
func (b *maker) catalogue(ctx context.Context, p registry.Plugin) ([]sdk.Part, error) {
	key := fmt.Sprint(p.Name, p.Command, p.SHA256)
	answer, asked := b.catalogues[key]
	if !asked {
		answer.parts, answer.err = b.Catalogue(ctx, p)
		b.catalogues[key] = answer
	}
	return answer.parts, answer.err
}
