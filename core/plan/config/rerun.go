package config

import (
	"slices"
	"strings"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/quote"
)

// RecordedLayer returns the layer of the values that the run at path recorded.
func RecordedLayer(path string, values []result.Value) Layer {
	return Layer{Origin: quote.Word(path), Values: File(values)}
}

// OutputEnviron returns an environment without the variables of psbench's options, except those of output.
func OutputEnviron(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		o, known := optionOf(name)
		return known && o.Group != "output"
	})
}

// optionOf returns the option that a variable of the environment sets.
func optionOf(variable string) (option.Option, bool) {
	key, ours := strings.CutPrefix(variable, option.EnvPrefix)
	o, known := option.Of(strings.ToLower(key))
	return o, ours && known
}

// WithoutDerivedTransport returns values without a transport that psbench chose itself: on other hosts it may choose
// another.
func WithoutDerivedTransport(values []result.Value) []result.Value {
	return slices.DeleteFunc(slices.Clone(values),
		func(v result.Value) bool { return v.Key == Transport && Derived(v) })
}

// RunDifferences returns how a run differs from an older one: in the machine, the programs and the environment, then in
// the configuration. Variables of options are left out, since the configuration has their values.
func RunDifferences(old, now *result.Result) []result.Difference {
	found := slices.DeleteFunc(result.Differences(old, now), func(d result.Difference) bool {
		variable, is := strings.CutPrefix(d.Name, "variable ")
		_, known := optionOf(variable)
		return is && known
	})
	return append(found, prefixed("configuration ", Differences(old.Config, now.Config))...)
}

// DefaultDifferences returns the defaults that differ between the configuration of an older run and now, the same
// configuration with the defaults of this psbench. A value that only one of them has is left out: it was no default
// then, or a run has yet to decide it.
func DefaultDifferences(old, now []result.Value) []result.Difference {
	changed := slices.DeleteFunc(Differences(old, now),
		func(d result.Difference) bool { return d.Old == "none" || d.New == "none" })
	return prefixed("default of ", changed)
}

// prefixed puts a prefix before the names of differences.
func prefixed(prefix string, differences []result.Difference) []result.Difference {
	for i := range differences {
		differences[i].Name = prefix + differences[i].Name
	}
	return differences
}
