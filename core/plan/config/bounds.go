package config

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/sdk"
)

// applyBounds makes settings of different parts consistent, by the bounds that the registry lists for the trainer. If
// only one of two settings was given, the other setting takes its value. No setting may exceed its limit. Parts without
// such a setting are skipped.
func (r *resolver) applyBounds(settings map[sdk.Kind][]effective) error {
	for _, b := range r.chosen[sdk.KindTrainer].Bounds {
		setting, limit := find(settings, b.Setting), find(settings, b.Limit)
		if setting == nil || limit == nil {
			continue
		}
		switch {
		case setting.given && !limit.given:
			limit.follow(setting, b.Setting)
		case limit.given && !setting.given:
			setting.follow(limit, b.Limit)
		}
		if n, most := setting.number(), limit.number(); n > most {
			return fmt.Errorf("%s is %s (%s) but must be at most %s, which is %s (%s)",
				b.Setting, option.Show(setting.value), setting.origin, b.Limit, option.Show(limit.value), limit.origin)
		}
	}
	return nil
}

func find(settings map[sdk.Kind][]effective, name registry.SettingName) *effective {
	of := settings[name.Kind]
	if i := slices.IndexFunc(of, func(e effective) bool { return e.name == name.Name }); i >= 0 {
		return &of[i]
	}
	return nil
}

// follow sets e to the value of another setting.
func (e *effective) follow(other *effective, name registry.SettingName) {
	e.value, e.origin = other.value, fmt.Sprintf("derived: as %s (%s)", name, other.origin)
}

// number returns the setting as a number. number returns 0, which sets no limit, if the setting is not a number.
func (e *effective) number() float64 {
	n, _ := e.value.(json.Number)
	f, _ := n.Float64()
	return f
}
