package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/quote"
)

// File is an effective configuration as the values of a configuration file, which leads to
// the same one. What says where output goes is no part of it.
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

// pinned says whether a configuration file should have the value of an option. Defaults
// are in it, since other versions of psbench may have others; but not those that are empty or
// that would be told to have no effect if somebody had given them, or that no run has decided yet.
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

// recorded are the values of a result, as File has them; ok says that data is one. Its end may
// be cut off, since only the measurements make a result large.
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
			return nil, false, nil // whoever reads it as a configuration file says where
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
		return nil, false, fmt.Errorf("file %s has the schema %s, but only results of %s have a configuration", path, quote.String(name), kind)
	}
	dec = json.NewDecoder(bytes.NewReader(config))
	dec.UseNumber()
	var list []result.Value
	if err := dec.Decode(&list); err != nil {
		return nil, false, fmt.Errorf("file %s is a result, but has no config that can be read", path)
	}
	return File(list), true, nil
}
