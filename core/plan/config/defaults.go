package config

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/sdk"
)

// notInDefaults lists the options that the defaults of a trainer or model must not set. These options must be known
// before the part is chosen. The option set is excluded too, because its values belong to parts with their own
// defaults.
var notInDefaults = map[sdk.Kind][]string{
	sdk.KindTrainer: {"config", "registry", "no_user_registry", "set", "trainer"},
	sdk.KindModel:   {"config", "registry", "no_user_registry", "set", "trainer", "model", "model_config_path"},
}

// checkDefaults checks the defaults of every trainer and model like a JSON file.
func checkDefaults(reg *registry.Registry) error {
	for _, kind := range []sdk.Kind{sdk.KindTrainer, sdk.KindModel} {
		for _, item := range reg.Items(kind) {
			if err := checkDefaultsOf(item); err != nil {
				if err := reg.Break(item, err); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func checkDefaultsOf(item registry.Item) error {
	place := fmt.Sprintf("%s_map.%s.defaults of %s", item.Kind, item.Key, item.File)
	c := &Config{sources: map[string]source{}}
	if _, err := c.take(layer{source: source{sort: fromPlace, place: place}, values: item.Defaults}); err != nil {
		return err
	}
	for _, key := range notInDefaults[item.Kind] {
		if _, given := c.sources[key]; given {
			return fmt.Errorf("%s in %s is given, but a %s cannot have a default for it", key, place, item.Kind)
		}
	}
	return nil
}

// takeDefaults adds the defaults of the chosen trainer and the chosen model as layers. These layers are above psbench's
// own defaults and below all other layers. The model's defaults are above the trainer's.
func (c *Config) takeDefaults(reg *registry.Registry) error {
	trainer, err := reg.Lookup(sdk.KindTrainer, c.Trainer)
	if err != nil {
		return fmt.Errorf("%s: %w", c.name("trainer"), err)
	}
	given := c.layers
	own := []layer{defaultsOf(trainer)}
	if err := c.mergeDefaults(given, own); err != nil {
		return err
	}
	// The trainer's defaults may choose the model.
	if model, ok := c.model(reg); ok && len(model.Defaults) > 0 {
		return c.mergeDefaults(given, append(own, defaultsOf(model)))
	}
	return nil
}

func defaultsOf(item registry.Item) layer {
	return layer{source: source{sort: fromPart, place: fmt.Sprintf("%s %s", item.Kind, item.Key)},
		values: item.Defaults}
}

// mergeDefaults merges the layers given and own into c. own goes directly above the lowest layer of given. The slice
// given is not changed, so that it can be used again.
func (c *Config) mergeDefaults(given, own []layer) error {
	merged, err := merge(slices.Insert(slices.Clone(given), 1, own...))
	if err != nil {
		return err
	}
	merged.layers, merged.cuda, merged.takes = given, c.cuda, c.takes
	*c = *merged
	return nil
}

// model returns the chosen model. If the model does not exist, the code that chooses the parts reports this later.
func (c *Config) model(reg *registry.Registry) (registry.Item, bool) {
	name := c.Model
	byID, err := configurations(sdk.KindModel, c.configurationFile(sdk.KindModel))
	if err != nil {
		return registry.Item{}, false
	}
	if configured, isID := byID[name]; isID {
		name = configured.class
	}
	item, err := reg.Lookup(sdk.KindModel, name)
	return item, err == nil
}
