package config

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/spelling"
	"github.com/psbench/psbench/sdk"
)

// placeSettings finds the kind of each setting that was given without a kind. The only part in the run that has such a
// setting determines the kind. If Sources.Takes is set, Takes decides instead about settings that a flag gave.
func (r *resolver) placeSettings(ctx context.Context) error {
	for i := range r.Config.settings {
		a := &r.Config.settings[i]
		if a.kind != "" || a.flag && r.takes != nil {
			continue
		}
		kinds, names, err := r.partsWith(ctx, a.name)
		if err != nil {
			return err
		}
		if len(kinds) == 1 {
			a.kind = kinds[0]
			continue
		}
		if len(kinds) == 0 {
			more := "; psbench list KIND shows the settings"
			if near := spelling.Nearest(a.name, names); near != "" {
				more = fmt.Sprintf("; did you mean %q?", near)
			}
			return &UnknownSettingError{fmt.Sprintf("%s: no part of this run has a setting %s%s", a.label,
				quote.String(a.name), more)}
		}
		var parts, targets []string
		for _, kind := range kinds {
			parts = append(parts, fmt.Sprintf("%s %s", kind, r.chosen[kind].Key))
			targets = append(targets, fmt.Sprintf("%s.%s", kind, a.name))
		}
		return fmt.Errorf("%s: %s have a setting %s: write %s", a.label, strings.Join(parts, " and "), a.name,
			strings.Join(targets, " or "))
	}
	return nil
}

// partsWith returns the kinds of the chosen parts that have the named setting, and the names of all settings.
func (r *resolver) partsWith(ctx context.Context, name string) (kinds []sdk.Kind, names []string, err error) {
	for _, c := range r.settableParts() {
		d, err := r.describe(ctx, c.Item)
		if err != nil {
			return nil, nil, err
		}
		for _, s := range d.Settings {
			names = append(names, s.Name)
		}
		if slices.ContainsFunc(d.Settings, func(s sdk.Setting) bool { return s.Name == name }) {
			kinds = append(kinds, c.Kind)
		}
	}
	return kinds, names, nil
}
