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

// BuildAxis is the axis of builds: programs that run cells, and registry files of plugins.
const BuildAxis = "build"

// axis is one of a specification.
type axis struct {
	name   string
	place  string // what errors call it
	values []value
	sets   string // a key that one of its groups sets, "" if none does
}

// value is one of an axis: a value of the configuration, or a group of them.
type value struct {
	label   string
	group   bool
	set     map[string]any // by key of the configuration, or KIND.SETTING
	written any            // as a file has it
}

// keyOf is a name as a configuration file has it.
func keyOf(name string) string {
	if strings.Contains(name, ".") {
		return name
	}
	return strings.ReplaceAll(name, "-", "_")
}

// keys are those that the axis sets.
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

// known refuses an axis that is named as nothing which a configuration has.
func (a axis) known() error {
	return knownKey(a.place, a.name)
}

// kinds are those whose parts have settings.
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

// axisKeys are the options that can be an axis.
func axisKeys() []string {
	var keys []string
	for _, o := range option.All() {
		if o.Type != option.Settings && o.Group != "output" && o.Key != "config" && o.Stands == "" {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

// checkLabels refuses values that cannot be told apart, or are none.
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

// expand are the values that an item of the axis stands for: itself, a group, or a range.
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

// label is what people read for a value: equal numbers are written alike, and truth as JSON has it.
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

// truth is true or false as JSON has it, however it is written; another text stays as it is.
func truth(text string) string {
	if plain := numeral.Truth(text); plain != text {
		return map[string]string{"0": "false", "1": "true"}[plain]
	}
	return text
}

// writtenAs is what a file would have for what a flag gives: numbers and lists as such.
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

// parseGroup reads values that change together: {"name": ..., KEY: VALUE, ...}.
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

// setsNothing refuses a group that sets no value, as a control group may be written, and shows how to write that.
func (a axis) setsNothing(label string) error {
	group, name := "a group", ""
	if label != "" {
		group, name = "group "+quote.String(label), fmt.Sprintf(`"name": %s, `, quote.String(label))
	}
	return fmt.Errorf(`%s: %s sets no value: set what the other groups set to its usual value, as in {%s%q: VALUE}`,
		a.place, group, name, cmp.Or(a.sets, "batch_size"))
}

// keyOfGroups is a key that a group of the list sets, "" without one.
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

// splitValues cuts a list of values as a flag gives it at its commas, but for those within
// brackets of JSON.
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
