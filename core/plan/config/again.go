package config

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/record/result"
)

// Given are the values of an effective configuration that somebody gave. The others are
// defaults, or come from psbench's own configurations of models and data.
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

// Derived says that psbench made a value of others, and of where it ran.
func Derived(v result.Value) bool { return strings.HasPrefix(v.Origin, derived) }

// Differences are the values that two effective configurations have not in common, but for those
// that say where output goes and those that no run has decided yet.
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

// texts are the values as a file would have them.
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
