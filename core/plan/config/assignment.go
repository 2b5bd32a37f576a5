package config

import (
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

// settable lists the kinds whose parts have settings.
var settable = []sdk.Kind{
	sdk.KindServer, sdk.KindTrainer, sdk.KindHook, sdk.KindCriterion, sdk.KindData, sdk.KindModel,
}

// assignment gives a value to a setting of a part.
type assignment struct {
	kind   sdk.Kind // "": the kind of the only part with such a setting
	name   string
	value  any    // text until it is parsed by the setting's type
	label  string // name of the setting in errors
	stood  source // option that was given instead of the setting; zero if there is none
	origin string
	of     string // the only part to which the value applies, as the option names it; "": any part
	flag   bool   // a flag gave the value
}

// Assigned is a setting that a flag gave.
type Assigned struct {
	Kind  sdk.Kind // "" if the flag names no kind
	Name  string
	Label string // name of the setting in errors
}

// Assigned lists the settings that flags gave.
func (c *Config) Assigned() (list []Assigned) {
	for _, a := range c.settings {
		if a.flag {
			list = append(list, Assigned{Kind: a.kind, Name: a.name, Label: a.label})
		}
	}
	return list
}

// isFor reports whether a applies to the part of this kind. part is the part's name in the option of the kind.
func (a assignment) isFor(kind sdk.Kind, part string) bool {
	return a.kind == kind && (a.of == "" || a.of == part)
}

// takeSettings adds the assignments of one layer. raw is a list from flags, a text from the environment, or an object
// from JSON.
func (c *Config) takeSettings(l layer, raw any) error {
	var assignments []assignment
	var err error
	switch v := raw.(type) {
	case []string:
		for _, item := range v {
			var a assignment
			if a, err = parseAssignment(item); err != nil {
				return err
			}
			assignments = append(assignments, a)
		}
	case option.Text:
		assignments, err = parseAssignments(string(v))
	case map[string]any:
		assignments, err = assignmentsOf(v)
	default:
		err = fmt.Errorf("is %s but must be an object of kinds, each an object of settings", option.Show(raw))
	}
	for _, a := range assignments {
		target := strings.TrimPrefix(fmt.Sprintf("%s.%s", a.kind, a.name), ".")
		a.origin, a.label, a.flag = l.origin("set"), l.name("set."+quote.Word(target)), l.sort == fromFlag
		if l.sort != fromPlace {
			a.label = fmt.Sprintf("%s %s", l.name("set"), quote.Word(target))
		}
		if l.recorded {
			a.of, _ = l.values[option.For(a.kind).Key].(string)
		}
		if i := slices.IndexFunc(c.settings,
			func(s assignment) bool { return s.stood == l.source && s.kind == a.kind && s.name == a.name }); i >= 0 {
			return fmt.Errorf("%s and %s are both given, but are the same", quote.Word(target), c.settings[i].label)
		}
		c.settings = append(c.settings, a)
	}
	return err
}

func assignmentsOf(byKind map[string]any) ([]assignment, error) {
	var out []assignment
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		k, err := parseKind(kind)
		if err != nil {
			return nil, err
		}
		values, ok := byKind[kind].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("has %s as %s but must have an object of settings there",
				option.Show(byKind[kind]), kind)
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			out = append(out, assignment{kind: k, name: name, value: values[name]})
		}
	}
	return out, nil
}

// parseAssignment parses kind.setting=value or setting=value. The value extends to the end of the text.
func parseAssignment(item string) (assignment, error) {
	target, value, ok := strings.Cut(item, "=")
	target = strings.TrimSpace(target)
	kind, name, dotted := strings.Cut(target, ".")
	if !ok || target == "" || dotted && name == "" {
		return assignment{}, fmt.Errorf("is %s but must be kind.setting=value, as in trainer.lr=0.1",
			quote.String(item))
	}
	if !dotted {
		return assignment{name: target, value: option.Text(value)}, nil
	}
	k, err := parseKind(kind)
	return assignment{kind: k, name: name, value: option.Text(value)}, err
}

// parseAssignments parses kind.setting=value,kind.setting=value. If a value begins like a JSON list, object or string,
// it ends where this JSON ends. Any other value ends at the next comma.
func parseAssignments(list string) ([]assignment, error) {
	var out []assignment
	for rest := list; strings.TrimSpace(rest) != ""; {
		item, after, err := cutAssignment(rest)
		if err != nil {
			return nil, err
		}
		a, err := parseAssignment(item)
		if err != nil {
			return nil, withBrackets(err, out, item)
		}
		out = append(out, a)
		rest = after
	}
	return out, nil
}

func cutAssignment(list string) (item, rest string, err error) {
	start := strings.IndexByte(list, '=') + 1
	value := list[start:]
	if start == 0 || value == "" || !strings.ContainsRune(`[{"`, rune(value[0])) {
		comma := strings.IndexByte(value, ',')
		if comma < 0 {
			return list, "", nil
		}
		return list[:start+comma], value[comma+1:], nil
	}
	written, place := numeral.InJSON(value)
	dec := json.NewDecoder(strings.NewReader(written))
	var v json.RawMessage
	if err := dec.Decode(&v); err != nil {
		return "", "", fmt.Errorf("has the value %s, which is not JSON: %w", quote.Text(value), err)
	}
	end := start + place(int(dec.InputOffset()))
	after, comma := strings.CutPrefix(strings.TrimSpace(list[end:]), ",")
	if !comma && after != "" {
		return "", "", fmt.Errorf("has %s after %s but must have a comma there",
			quote.String(after), quote.Text(list[:end]))
	}
	return list[:end], after, nil
}

func parseKind(name string) (sdk.Kind, error) {
	if kind := sdk.Kind(name); slices.Contains(settable, kind) {
		return kind, nil
	}
	var kinds []string
	for _, k := range settable {
		kinds = append(kinds, string(k))
	}
	return "", fmt.Errorf("names the unknown kind %s%s",
		quote.String(name), spelling.Hint(name, kinds, "kinds with settings", "psbench list shows all"))
}

// withBrackets adds advice to err if the text after a comma is not an assignment. The text may then belong to a list in
// the assignment before it, and the advice says how to write this list.
func withBrackets(err error, before []assignment, item string) error {
	kind, _, dotted := strings.Cut(item, ".")
	if _, unknown := parseKind(strings.TrimSpace(kind)); len(before) == 0 || strings.Contains(item, "=") ||
		dotted && unknown == nil {
		return err
	}
	last := before[len(before)-1]
	list := option.ListOf(option.Text(fmt.Sprintf("%s,%s", last.value, item)))
	if list == "" {
		return err
	}
	return fmt.Errorf("%w; a list has brackets: %s=%s",
		err, strings.TrimPrefix(string(last.kind)+"."+last.name, "."), list)
}
