package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/psbench/psbench"
	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/spelling"
	"github.com/psbench/psbench/sdk"
)

// ModelConfiguration is an entry in a file of model configurations. A file of model configurations maps ids to entries.
type ModelConfiguration struct {
	ModelClass     string         `json:"model_class" jsonschema:"required" doc:"key or alias of a model"`
	Configurations map[string]any `json:"configurations,omitempty" doc:"settings of the model by name"`
}

// DataConfiguration is an entry in a file of data configurations. A file of data configurations maps ids to entries.
type DataConfiguration struct {
	DataClass      string         `json:"data_class" jsonschema:"required" doc:"key or alias of a data part"`
	Configurations map[string]any `json:"configurations,omitempty" doc:"settings of the data part by name"`
}

// builtinConfigurations lists the embedded files of configurations.
var builtinConfigurations = map[sdk.Kind]string{
	sdk.KindModel: "configs/models.json",
	sdk.KindData:  "configs/data.json",
}

// configuration is an entry in a file of configurations.
type configuration struct {
	class    string
	settings map[string]any
	place    string // file and id, for errors
}

// configurations returns the configurations of a kind by id. Entries of file, if it is not "", replace embedded entries
// with the same id.
func configurations(kind sdk.Kind, file string) (map[string]configuration, error) {
	builtin := builtinConfigurations[kind]
	data, err := psbench.Files.ReadFile(builtin)
	if err != nil {
		return nil, err
	}
	all, err := parseConfigurations(kind, builtin, data)
	if err != nil || file == "" {
		return all, err
	}
	if data, err = jsonfile.Read(file); err != nil {
		return nil, err
	}
	own, err := parseConfigurations(kind, file, data)
	maps.Copy(all, own)
	return all, err
}

// ConfigurationIDs lists the ids that --model or --data accepts. Other kinds have no ids.
func (c *Config) ConfigurationIDs(kind sdk.Kind) ([]string, error) {
	if _, ok := builtinConfigurations[kind]; !ok {
		return nil, nil
	}
	byID, err := configurations(kind, c.configurationFile(kind))
	return slices.Sorted(maps.Keys(byID)), err
}

func (c *Config) configurationFile(kind sdk.Kind) string {
	switch kind {
	case sdk.KindModel:
		return c.ModelConfigPath
	case sdk.KindData:
		return c.DataConfigPath
	default:
		return ""
	}
}

func parseConfigurations(kind sdk.Kind, name string, data []byte) (map[string]configuration, error) {
	entries, err := jsonfile.Map(name, data)
	if err != nil {
		return nil, err
	}
	delete(entries, "$schema")
	out := map[string]configuration{}
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		entry, ok := entries[id].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s in %s is %s but must be an object",
				quote.Word(id), quote.Word(name), option.Show(entries[id]))
		}
		c, err := parseConfiguration(string(kind)+"_class", entry)
		if err != nil {
			return nil, fmt.Errorf("%s in %s %w", quote.Word(id), quote.Word(name), err)
		}
		c.place = quote.Word(name) + ", " + quote.Word(id)
		out[id] = c
	}
	return out, nil
}

func parseConfiguration(classKey string, entry map[string]any) (configuration, error) {
	const settingsKey = "configurations"
	var c configuration
	for _, key := range slices.Sorted(maps.Keys(entry)) {
		ok := false
		switch key {
		case classKey:
			c.class, ok = entry[key].(string)
		case settingsKey:
			c.settings, ok = entry[key].(map[string]any)
		default:
			return c, fmt.Errorf("has the unknown key %s%s",
				quote.String(key), spelling.Hint(key, []string{classKey, settingsKey}, "", ""))
		}
		if !ok {
			return c, fmt.Errorf("has %s as %s, which must be a string for %s and an object for %s",
				option.Show(entry[key]), key, classKey, settingsKey)
		}
	}
	if c.class == "" {
		return c, fmt.Errorf("has no %s", classKey)
	}
	return c, nil
}

// partSettings reads a file with settings for parts. The file maps keys of parts to settings, and the result maps
// canonical keys. Every key must be known, because typing errors would otherwise go unnoticed.
func partSettings(file string, reg *registry.Registry, kind sdk.Kind) (map[string][]assignment, error) {
	entries, err := jsonfile.ReadMap(file)
	if err != nil {
		return nil, err
	}
	delete(entries, "$schema")
	out := map[string][]assignment{}
	seen := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		found, err := reg.Lookup(kind, key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", quote.Word(file), err)
		}
		if other, twice := seen[found.Key]; twice {
			return nil, fmt.Errorf("%s has settings for %s and for %s, which are the same %s",
				quote.Word(file), other, key, kind)
		}
		seen[found.Key] = key
		settings, ok := entries[key].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s in %s is %s but must be an object of settings",
				key, quote.Word(file), option.Show(entries[key]))
		}
		out[found.Key] = assignmentsFrom(kind, settings, quote.Word(file)+", "+key)
	}
	return out, nil
}

// assignmentsFrom converts the settings from one place to assignments.
func assignmentsFrom(kind sdk.Kind, settings map[string]any, place string) []assignment {
	var out []assignment
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		out = append(out, assignment{
			kind: kind, name: name, value: settings[name],
			label: quote.Word(name) + " in " + place, origin: place,
		})
	}
	return out
}
