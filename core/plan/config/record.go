package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/quote"
)

// File converts an effective configuration to the values of a configuration file that gives the same configuration.
// File omits options for output.
func File(values []result.Value) map[string]any {
	file, set := map[string]any{}, map[string]any{}
	for _, v := range values {
		if kind, name, ok := strings.Cut(v.Key, "."); ok {
			settings, _ := set[kind].(map[string]any)
			if settings == nil {
				settings = map[string]any{}
				set[kind] = settings
			}
			settings[name] = v.Value
		} else if pinned(v) {
			file[v.Key] = v.Value
		}
	}
	if len(set) > 0 {
		file["set"] = set
	}
	return file
}

// pinned reports whether a configuration file contains the value. The file contains defaults too, because other
// versions of psbench may have other defaults. The file does not contain empty defaults, defaults that would cause a
// warning about no effect, or values that no run has decided yet.
func pinned(v result.Value) bool {
	o, _ := option.Of(v.Key)
	if o.Group == "output" || v.Key == "config" || strings.HasSuffix(v.Origin, undecided) {
		return false
	}
	if v.Origin != byDefault && !Derived(v) {
		return true
	}
	list, _ := v.Value.([]any)
	return o.NoEffect == "" && v.Key != "listen" && v.Value != "" && (o.Type != option.List || len(list) > 0)
}

// recorded returns the values of a result, in the format of File. ok reports whether data is a result. The end of data
// may be missing: only measurements make a result large, and they are not needed.
func recorded(path string, data []byte) (values map[string]any, ok bool, err error) {
	var schema, config json.RawMessage
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false, nil
	}
	for dec.More() && (schema == nil || config == nil) {
		key, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return nil, false, nil // parsing data as a configuration file will give the error
		}
		switch key {
		case "schema":
			schema = value
		case "config":
			config = value
		}
	}
	var name string
	if json.Unmarshal(schema, &name) != nil || !strings.HasPrefix(name, "psbench.") {
		return nil, false, nil
	}
	if kind, _, _ := strings.Cut(result.Schema, "/"); !strings.HasPrefix(name, kind+"/") {
		return nil, false, fmt.Errorf("file %s has the schema %s, but only results of %s have a configuration",
			path, quote.String(name), kind)
	}
	dec = json.NewDecoder(bytes.NewReader(config))
	dec.UseNumber()
	var list []result.Value
	if err := dec.Decode(&list); err != nil {
		return nil, false, fmt.Errorf("file %s is a result, but has no config that can be read", path)
	}
	return File(list), true, nil
}

// Given returns the values of an effective configuration that the user gave explicitly. Given omits defaults and values
// from psbench's own configurations of models and data.
func Given(values []result.Value) []result.Value {
	return slices.DeleteFunc(slices.Clone(values), func(v result.Value) bool {
		for _, file := range builtinConfigurations {
			if strings.HasPrefix(v.Origin, file) {
				return true
			}
		}
		return v.Origin == "" || strings.HasPrefix(v.Origin, byDefault) || Derived(v)
	})
}

// Derived reports whether psbench derived a value from other values or from the host on which it ran.
func Derived(v result.Value) bool { return strings.HasPrefix(v.Origin, derived) }

// Differences lists the values that differ between two effective configurations. Differences omits options for output
// and values that no run has decided yet.
func Differences(old, now []result.Value) []result.Difference {
	before, after := texts(old), texts(now)
	var found []result.Difference
	for _, v := range slices.Concat(old, now) {
		a, had := before[v.Key]
		b, has := after[v.Key]
		delete(before, v.Key)
		delete(after, v.Key)
		switch {
		case had && has && a == b || !had && !has:
		case !had:
			found = append(found, result.Difference{Name: v.Key, Old: "none", New: b})
		case !has:
			found = append(found, result.Difference{Name: v.Key, Old: a, New: "none"})
		default:
			found = append(found, result.Difference{Name: v.Key, Old: a, New: b})
		}
	}
	return found
}

// texts returns the values as texts, in the format of a configuration file.
func texts(values []result.Value) map[string]string {
	all := map[string]string{}
	for _, v := range values {
		o, _ := option.Of(v.Key)
		if o.Group == "output" || v.Key == "config" || strings.HasSuffix(v.Origin, undecided) {
			continue
		}
		text, err := json.Marshal(v.Value)
		if err == nil {
			all[v.Key] = string(text)
		}
	}
	return all
}
