package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/sdk"
)

// take sets a cell's configuration, parts and plugins from its experiment.
func (b *maker) take(c *Cell, exp *config.Experiment) error {
	var err error
	if c.Config, err = fileOf(exp.Values); err != nil {
		return err
	}
	c.Parts = partsOf(exp.Parts, exp.InTrainer)
	c.Plugins, err = b.plugins(exp.Parts)
	b.plan.Binaries = b.builds.binaries
	return err
}

// partsOf returns the keys of the parts by kind, and the arguments of the parts' plugins.
func partsOf(parts map[sdk.Kind]config.Part, inTrainer map[sdk.Kind]string) map[string]string {
	keys := map[string]string{}
	for kind, part := range parts {
		keys[string(kind)] = part.Key
		if words := argumentsOf(part.Plugin); words != "" {
			keys[pluginPrefix+part.Plugin.Name] = words
		}
	}
	for kind, key := range inTrainer {
		keys[string(kind)] = key
	}
	return keys
}

// pluginPrefix is the prefix of those keys in Cell.Parts that hold the arguments of a plugin.
const pluginPrefix = "arguments of plugin "

// argumentsOf returns the arguments of a plugin's program. It shortens each file to its base name, because a checksum
// covers the file's content.
func argumentsOf(p registry.Plugin) string {
	var words []string
	for _, argument := range p.Command[min(1, len(p.Command)):] {
		if executable.NamesFile(argument) {
			argument = filepath.Base(argument)
		}
		words = append(words, argument)
	}
	return strings.Join(words, " ")
}

// plugins returns the files that the plugins of parts run, sorted and without repeats.
func (b *maker) plugins(parts map[sdk.Kind]config.Part) ([]string, error) {
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(parts)) {
		files, err := b.builds.plugin(parts[kind].Plugin)
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// effective returns the configuration that another psbench computes from values.
func (b *maker) effective(ctx context.Context, program string, values []result.Value) (map[string]any, error) {
	given, err := fileOf(values)
	if err != nil {
		return nil, err
	}
	file, err := b.Effective(ctx, program, given)
	if err == nil && file[SeedKey] == nil {
		err = fmt.Errorf("it does not say its %s", SeedKey)
	}
	return file, err
}

// fileOf returns values as a decoded configuration file with absolute paths.
func fileOf(values []result.Value) (map[string]any, error) {
	text, err := json.Marshal(config.File(values))
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var file map[string]any
	if err := dec.Decode(&file); err != nil {
		return nil, err
	}
	for _, key := range places {
		switch v := file[key].(type) {
		case string:
			file[key], err = filepath.Abs(v)
		case []any:
			for i := range v {
				name, _ := v[i].(string)
				if v[i], err = filepath.Abs(name); err != nil {
					return nil, err
				}
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return file, nil
}

// matters returns the cell without the values that its runs do not use. If two cells are then equal, their runs are
// equal.
func (b *maker) matters(c Cell, exp *config.Experiment) (Cell, error) {
	c.Config = maps.Clone(c.Config)
	for _, o := range option.All() {
		if exp.Ignores(o) || (o.Key == "listen" || o.Key == "interface") && !exp.Fabric.Network.OnIP() {
			delete(c.Config, o.Key)
		}
	}
	if exp.Links.Server || exp.Service != sdk.ServiceGradients {
		return c, nil
	}
	delete(c.Config, "server")
	delete(c.Config, "nserver")
	delete(c.Config, "ncudaserver")
	if set, ok := c.Config["set"].(map[string]any); ok {
		set = maps.Clone(set)
		delete(set, string(sdk.KindServer))
		c.Config["set"] = set
	}
	parts := maps.Clone(exp.Parts)
	delete(parts, sdk.KindServer)
	c.Parts = partsOf(parts, exp.InTrainer)
	var err error
	c.Plugins, err = b.plugins(parts)
	return c, err
}
