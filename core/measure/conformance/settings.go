package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/process/launch"
	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/internal/points/inrun"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/spelling"
	"github.com/psbench/psbench/sdk"
)

// refusal is a setting that parts of a kind must refuse.
type refusal struct {
	kind  sdk.Kind
	name  string
	value any
}

// takeSettings reads the user's settings. Each setting must belong to a checked part, or to one of psbench's own parts
// in the trials.
func (c *Check) takeSettings() error {
	merged, err := config.Merge(c.Configuration)
	if err != nil {
		return err
	}
	c.assigned = merged.Assigned()
	for _, a := range c.assigned {
		if err := c.known(a.Label, a.Kind, a.Name, slices.Concat(c.parts, c.ours)); err != nil && !c.Model {
			return err // a model of the user may have this setting
		}
	}
	for _, text := range c.Refused {
		name, value, ok := strings.Cut(text, "=")
		kind, name, dotted := strings.Cut(name, ".")
		if !ok || !dotted || !slices.Contains(ranked, sdk.Kind(kind)) {
			return fmt.Errorf("--refuses is %s but must be kind.setting=value, as in server.limit=-1",
				quote.String(text))
		}
		r := refusal{kind: sdk.Kind(kind), name: name}
		if json.Unmarshal([]byte(value), &r.value) != nil {
			r.value = value
		}
		if err := c.known("--refuses "+quote.Word(kind+"."+name), r.kind, r.name, c.parts); err != nil && near(err) {
			return err // parts must refuse any unknown name
		}
		c.refused = append(c.refused, r)
	}
	return nil
}

// known returns an error unless one of the parts has the setting that the user gave.
func (c *Check) known(label string, kind sdk.Kind, name string, parts []sdk.Part) error {
	var names []string
	for _, part := range parts {
		if inrun.IsKey(part.Key) || kind != "" && part.Kind != kind {
			continue
		}
		if hasSetting(part, name) {
			return nil
		}
		for _, s := range part.Settings {
			names = append(names, s.Name)
		}
	}
	of := "part"
	if kind != "" {
		of = string(kind)
	}
	return &unknownSetting{fmt.Sprintf("%s: no %s that is tried has a setting %s",
		label, of, quote.String(name)), spelling.Nearest(name, names)}
}

// unknownSetting reports a setting that no part has. It names a similar setting if there is one.
type unknownSetting struct{ text, near string }

func (e *unknownSetting) Error() string {
	if e.near == "" {
		return e.text
	}
	return fmt.Sprintf("%s; did you mean %q?", e.text, e.near)
}

func near(err error) bool {
	var unknown *unknownSetting
	return errors.As(err, &unknown) && unknown.near != ""
}

func hasSetting(part sdk.Part, name string) bool {
	return slices.ContainsFunc(part.Settings, func(s sdk.Setting) bool { return s.Name == name })
}

// takes reports whether a part gets a setting from the user. One of psbench's own parts gets it only if no part of the
// same kind in the plugin has it.
func (c *Check) takes(part sdk.Part, name string) bool {
	own := func(p sdk.Part) bool { return p.Kind == part.Kind && hasSetting(p, name) }
	switch {
	case !hasSetting(part, name), inrun.IsKey(part.Key):
		return false
	case partOf(c.ours, part.Kind, part.Key) == nil, c.Model && part.Kind == sdk.KindModel:
		return true
	}
	return !slices.ContainsFunc(c.parts, own)
}

// refusalsOf returns the settings that the user expects a part to refuse. If only some parts of a kind have a setting,
// only those parts must refuse it.
func (c *Check) refusalsOf(part sdk.Part) (list []refusal) {
	for _, r := range c.refused {
		others := func(p sdk.Part) bool { return p.Kind == part.Kind && hasSetting(p, r.name) }
		if r.kind == part.Kind && (hasSetting(part, r.name) || !slices.ContainsFunc(c.parts, others)) {
			list = append(list, r)
		}
	}
	return list
}

// missing returns the name of a required setting that the user did not give. Its default is empty, and the error of the
// smallest run names it.
func (c *Check) missing(part sdk.Part, err error) (name string) {
	if err == nil {
		return ""
	}
	for _, s := range part.Settings {
		given := slices.ContainsFunc(c.assigned, func(a config.Assigned) bool {
			return a.Name == s.Name && (a.Kind == "" || a.Kind == part.Kind)
		})
		named := regexp.MustCompile(`\b` + regexp.QuoteMeta(s.Name) + `\b`)
		if !given && slices.Contains(empty, string(s.Default)) && named.MatchString(err.Error()) {
			return s.Name
		}
	}
	return ""
}

// empty lists the default values, as JSON, that a required setting may have.
var empty = []string{`""`, "0", "0.0", "[]", "{}", "null"}

// settings builds the part with settings that it must refuse. psbench itself refuses most of them before a run, so
// settings puts them into an already resolved experiment.
func (c *Check) settings(ctx context.Context, part sdk.Part) error {
	if c.first != nil { // another point reports it
		return errUnseen("a run with the right settings fails, too")
	}
	wrong := []refusal{{name: "there_is_no_such_setting", value: 1}}
	for _, s := range part.Settings {
		wrong = append(wrong, refusal{name: s.Name, value: map[string]string{"of": "no type that it has"}})
	}
	for _, w := range append(wrong, c.refusalsOf(part)...) {
		if err := c.refuses(ctx, part, w.name, w.value); err != nil {
			return err
		}
	}
	return nil
}

// refuses returns an error if a run succeeds with this value of the setting. The death of a process does not count as a
// refusal.
func (c *Check) refuses(ctx context.Context, part sdk.Part, name string, value any) error {
	o, err := c.smallestOptions(part)
	if err != nil {
		return err
	}
	var shown []byte
	_, err = c.runWith(ctx, o, func(e *config.Experiment) {
		p := e.Parts[part.Kind]
		settings := map[string]any{}
		_ = json.Unmarshal(p.Settings, &settings) // psbench wrote these settings
		settings[name] = value
		p.Settings, _ = json.Marshal(settings)
		shown, _ = json.Marshal(map[string]any{name: value})
		e.Parts[part.Kind] = p
	})
	var died *launch.DeathError
	switch {
	case err == nil:
		return fmt.Errorf("it is built with the settings %s", shown)
	case errors.Is(err, monitor.ErrInterrupted):
		return err
	case errors.As(err, &died):
		return fmt.Errorf("it does not refuse the settings %s: %w", shown, err)
	}
	return nil
}

// smallest executes the smallest run with the part.
func (c *Check) smallest(ctx context.Context, part sdk.Part) (*result.Result, error) {
	if part.Kind == sdk.KindData {
		return c.read(ctx, part, alone)
	}
	o, err := c.smallestOptions(part)
	if err != nil {
		return nil, err
	}
	return c.run(ctx, o)
}

func (c *Check) smallestOptions(part sdk.Part) (options, error) {
	o, err := c.base(part)
	if err != nil || part.Kind == sdk.KindTrainer {
		return o, err
	}
	if part.Kind == sdk.KindData {
		c.fit(o)
		return o, nil
	}
	list := c.pointsOf(part)
	first := slices.IndexFunc(list, harness.Point.InRun)
	o.set(sdk.KindTrainer, c.trying(part, list[first].Name))
	return o, nil
}
