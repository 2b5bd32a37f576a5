package sweep

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/psbench/psbench/internal/quote"
)

// rule is a rule of include or exclude, or the baseline. It names some axes and lists the values that fit on each of
// them.
type rule struct {
	values  map[int][]string // labels by index of the axis
	written string
}

// rulesOf parses the rules that the specification gives under key.
func (s *Spec) rulesOf(key string, axes []axis, given []map[string]any) ([]rule, error) {
	var rules []rule
	for i, g := range given {
		r, err := parseRule(fmt.Sprintf("%s: rule %d of %s", s.origin, i+1, key), axes, g)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func parseRule(place string, axes []axis, given map[string]any) (rule, error) {
	r := rule{values: map[int][]string{}}
	if len(given) == 0 {
		return r, fmt.Errorf("%s names no axis", place)
	}
	names := make([]string, len(axes))
	for i, a := range axes {
		names[i] = a.name
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.IndexFunc(axes, func(a axis) bool { return keyOf(a.name) == keyOf(name) })
		if i < 0 {
			return r, fmt.Errorf("%s names %s, which is no axis%s", place, quote.String(name), nearest(name, names))
		}
		list, ok := given[name].([]any)
		if !ok {
			list = []any{given[name]}
		}
		for _, item := range list {
			labels, err := labelsOf(axes[i], item)
			if err != nil {
				return r, fmt.Errorf("%s: %w", place, err)
			}
			r.values[i] = append(r.values[i], labels...)
		}
		words = append(words, name+"="+strings.Join(r.values[i], ","))
	}
	r.written = strings.Join(words, " ")
	return r, nil
}

// labelsOf returns the labels on an axis that match an item of a rule.
func labelsOf(a axis, item any) ([]string, error) {
	wanted := []string{a.label(item)}
	if text, ok := item.(string); ok {
		if numbers, isRange, err := parseRange(text); err != nil {
			return nil, err
		} else if isRange {
			wanted = numbers
		}
	}
	known := a.labels()
	for _, w := range wanted {
		if !slices.Contains(known, w) {
			return nil, fmt.Errorf("axis %s has no value %s%s", quote.Word(a.name), quote.String(w), nearest(w, known))
		}
	}
	return wanted, nil
}

// fits reports whether the rule fits a cell. On each axis that the rule names, the cell must have one of the rule's
// values.
func (r rule) fits(labels []string) bool {
	for i, wanted := range r.values {
		if !slices.Contains(wanted, labels[i]) {
			return false
		}
	}
	return true
}

// unwanted returns the reason why the rules leave out a cell, or "" if they keep it.
func unwanted(labels []string, include, exclude []rule) string {
	for _, r := range exclude {
		if r.fits(labels) {
			return "excluded: " + r.written
		}
	}
	if len(include) > 0 && !slices.ContainsFunc(include, func(r rule) bool { return r.fits(labels) }) {
		return "excluded: no rule of include fits"
	}
	return ""
}
