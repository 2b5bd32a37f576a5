package sweep

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/spelling"
	"github.com/psbench/psbench/sdk"
)

// BuildAxis is the axis of builds. Each of its values is a program that runs cells, or a registry file of plugins.
const BuildAxis = "build"

// axis is one axis of a specification: a name and the values that cells take on it.
type axis struct {
	name   string
	place  string // name of the axis in error messages
	values []value
	sets   string // a key that one of its groups sets, or ""
}

// value is one value on an axis: a configuration value, or a group of values that change together.
type value struct {
	label   string
	group   bool
	set     map[string]any // values by configuration key or KIND.SETTING
	written any            // the value as a specification file spells it
}

// keyOf converts an option's name to a key of the configuration file: batch-size becomes batch_size. KIND.SETTING stays
// unchanged.
func keyOf(name string) string {
	if strings.Contains(name, ".") {
		return name
	}
	return strings.ReplaceAll(name, "-", "_")
}

// keys returns the keys that the axis sets, sorted.
func (a axis) keys() []string {
	keys := map[string]bool{}
	for _, v := range a.values {
		for key := range v.set {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

func (a axis) labels() []string {
	labels := make([]string, len(a.values))
	for i, v := range a.values {
		labels[i] = v.label
	}
	return labels
}

// known returns an error unless the axis has the name of a configuration key, of a KIND.SETTING or of BuildAxis.
func (a axis) known() error {
	return knownKey(a.place, a.name)
}

// kinds lists the kinds of parts that have settings.
var kinds = []string{string(sdk.KindServer), string(sdk.KindTrainer), string(sdk.KindHook), string(sdk.KindCriterion),
	string(sdk.KindData), string(sdk.KindModel)}

func knownKey(place, name string) error {
	key := keyOf(name)
	if kind, setting, ok := strings.Cut(key, "."); ok {
		if !slices.Contains(kinds, kind) || setting == "" {
			return fmt.Errorf("%s is no setting KIND.SETTING of a part: unknown kind %s%s", place, quote.String(kind),
				nearest(kind, kinds))
		}
		return nil
	}
	names := append(axisKeys(), BuildAxis)
	if slices.Contains(names, key) {
		return nil
	}
	if o, ok := option.Of(key); ok && o.Stands != "" {
		return fmt.Errorf("%s: --%s is another name for %s: name that", place, o.Flag(), o.Stands)
	} else if ok {
		return fmt.Errorf("%s: --%s is no value that cells can differ in", place, o.Flag())
	}
	return fmt.Errorf("%s: unknown axis %s%s", place, quote.String(name),
		spelling.Hint(key, names, "axes", "psbench config shows all keys"))
}

// axisKeys returns the keys of all options that an axis can set.
func axisKeys() []string {
	var keys []string
	for _, o := range option.All() {
		if o.Type != option.Settings && o.Group != "output" && o.Key != "config" && o.Stands == "" {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

// checkLabels returns an error if the axis has no values, or an empty, unprintable or repeated value.
func (a axis) checkLabels() error {
	seen := map[string]bool{}
	for _, v := range a.values {
		if v.label == "" {
			return fmt.Errorf("%s has an empty value", a.place)
		}
		if !quote.Plain(v.label) {
			return fmt.Errorf("%s has the value %s, which cannot be printed: give it a name without control characters",
				a.place, quote.String(v.label))
		}
		if seen[v.label] {
			return fmt.Errorf("%s has the value %s twice", a.place, quote.String(v.label))
		}
		seen[v.label] = true
	}
	if len(a.values) == 0 {
		return fmt.Errorf("%s has no values, so the product of the axes is empty", a.place)
	}
	return nil
}

// expand returns the values for one item of the axis. An item is a single value, a group, or a range of numbers.
func (a axis) expand(item any) ([]value, error) {
	if group, ok := item.(map[string]any); ok {
		v, err := a.parseGroup(group)
		return []value{v}, err
	}
	if item == nil {
		return nil, fmt.Errorf("%s has the value null", a.place)
	}
	text := ""
	switch v := item.(type) {
	case string:
		text = v
	case option.Text:
		text = string(v)
	}
	numbers, isRange, err := parseRange(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.place, err)
	}
	if !isRange {
		return []value{a.single(item)}, nil
	}
	values := make([]value, len(numbers))
	for i, n := range numbers {
		values[i] = a.single(json.Number(n))
	}
	return values, nil
}

func (a axis) single(item any) value {
	v := value{label: a.label(item), set: map[string]any{keyOf(a.name): item}, written: item}
	if text, ok := item.(option.Text); ok {
		v.written = writtenAs(keyOf(a.name), text)
	}
	return v
}

// label returns the text to show for a value. Equal numbers get the same text, and booleans become true or false.
func (a axis) label(item any) string {
	text := label(item)
	switch item.(type) {
	case map[string]any, []any:
		return text
	}
	switch o, isOption := option.Of(keyOf(a.name)); {
	case !isOption && strings.Contains(a.name, "."), o.Type == option.Integer, o.Type == option.Number:
		return plainNumber(text)
	case o.Type == option.Bool:
		return truth(text)
	}
	return text
}

// truth returns true or false for every accepted spelling of a boolean. It returns other text unchanged.
func truth(text string) string {
	if plain := numeral.Truth(text); plain != text {
		return map[string]string{"0": "false", "1": "true"}[plain]
	}
	return text
}

// writtenAs converts a flag's text to the value that a specification file would have. It reads numbers and lists as
// JSON.
func writtenAs(key string, text option.Text) any {
	o, isOption := option.Of(key)
	switch {
	case o.Type == option.Bool:
		return option.Text(truth(string(text))).Value()
	case !isOption && key != BuildAxis || o.Type == option.Integer || o.Type == option.Number:
		if number, err := numeral.JSON(string(text)); err == nil {
			return json.Number(number)
		}
		return text.Value()
	}
	return string(text)
}

// parseGroup reads a group of values that change together: {"name": ..., KEY: VALUE, ...}.
func (a axis) parseGroup(group map[string]any) (value, error) {
	v := value{group: true, set: map[string]any{}, written: group}
	var words []string
	for _, key := range slices.Sorted(maps.Keys(group)) {
		item := group[key]
		if key == "name" {
			name, ok := item.(string)
			if !ok || name == "" {
				return v, fmt.Errorf("%s has a group with the name %s, which must be a text", a.place,
					option.Show(item))
			}
			v.label = name
			continue
		}
		if item == nil {
			return v, fmt.Errorf("%s has null for %s", a.place, quote.Word(key))
		}
		if err := knownKey(a.place, key); err != nil {
			return v, err
		}
		v.set[keyOf(key)] = item
		words = append(words, key+"="+label(item))
	}
	if len(v.set) == 0 {
		return v, a.setsNothing(v.label)
	}
	if v.label == "" {
		v.label = strings.Join(words, ",")
	}
	return v, nil
}

// setsNothing returns the error for a group that sets no value, such as a control group. The error shows how to write a
// control group.
func (a axis) setsNothing(label string) error {
	group, name := "a group", ""
	if label != "" {
		group, name = "group "+quote.String(label), fmt.Sprintf(`"name": %s, `, quote.String(label))
	}
	return fmt.Errorf(`%s: %s sets no value: set what the other groups set to its usual value, as in {%s%q: VALUE}`,
		a.place, group, name, cmp.Or(a.sets, "batch_size"))
}

// keyOfGroups returns a key that a group in the list sets, or "" if no group sets one.
func keyOfGroups(list []any) string {
	for _, item := range list {
		group, _ := item.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(group)) {
			if key != "name" && knownKey("", key) == nil {
				return key
			}
		}
	}
	return ""
}

// splitValues splits a flag's list of values at its commas. It ignores commas inside JSON brackets.
func splitValues(list string) []string {
	var items []string
	depth, start := 0, 0
	for i, r := range list {
		switch {
		case r == '[' || r == '{':
			depth++
		case r == ']' || r == '}':
			depth--
		case r == ',' && depth <= 0:
			items = append(items, strings.TrimSpace(list[start:i]))
			start = i + 1
		}
	}
	return append(items, strings.TrimSpace(list[start:]))
}
