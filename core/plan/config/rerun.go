package config

import (
	"slices"
	"strings"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/quote"
)

// RecordedLayer returns a layer with the values that the run at path recorded.
func RecordedLayer(path string, values []result.Value) Layer {
	return Layer{Origin: quote.Word(path), Values: File(values)}
}

// OutputEnviron returns environ without the variables of options. OutputEnviron keeps the variables of output options.
func OutputEnviron(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		o, known := optionOf(name)
		return known && o.Group != "output"
	})
}

// optionOf returns the option that an environment variable sets.
func optionOf(variable string) (option.Option, bool) {
	key, ours := strings.CutPrefix(variable, option.EnvPrefix)
	o, known := option.Of(strings.ToLower(key))
	return o, ours && known
}

// WithoutDerivedTransport returns values without the transport if psbench chose it. On other hosts, psbench may choose
// another transport.
func WithoutDerivedTransport(values []result.Value) []result.Value {
	return slices.DeleteFunc(slices.Clone(values),
		func(v result.Value) bool { return v.Key == Transport && Derived(v) })
}

// RunDifferences lists how a run differs from an older run: first in machine, programs and environment, then in
// configuration. RunDifferences omits variables of options, because the configuration contains their values.
func RunDifferences(old, now *result.Result) []result.Difference {
	found := slices.DeleteFunc(result.Differences(old, now), func(d result.Difference) bool {
		variable, is := strings.CutPrefix(d.Name, "variable ")
		_, known := optionOf(variable)
		return is && known
	})
	return append(found, prefixed("configuration ", Differences(old.Config, now.Config))...)
}

// DefaultDifferences lists the defaults that changed since an older run. old is the configuration of that run. now is
// the same configuration with the defaults of this psbench. DefaultDifferences omits values that only one of them
// contains. Such a value was not a default in the older run, or no run has decided it yet.
func DefaultDifferences(old, now []result.Value) []result.Difference {
	changed := slices.DeleteFunc(Differences(old, now),
		func(d result.Difference) bool { return d.Old == "none" || d.New == "none" })
	return prefixed("default of ", changed)
}

// prefixed adds a prefix to the names of differences.
func prefixed(prefix string, differences []result.Difference) []result.Difference {
	for i := range differences {
		differences[i].Name = prefix + differences[i].Name
	}
	return differences
}
