package config

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/core/registry"
	"github.com/psbench/psbench/sdk"
)

// notInDefaults are the options that must be known before a trainer is chosen, and
// set, whose values belong to parts: those have defaults of their own.
var notInDefaults = []string{"config", "registry", "set", "trainer"}

// checkDefaults reads the defaults of every trainer as a JSON file would be read.
func checkDefaults(reg *registry.Registry) error {
	for _, item := range reg.Items(sdk.KindTrainer) {
		place := fmt.Sprintf("trainer_map.%s.defaults of %s", item.Key, item.File)
		c := &Config{sources: map[string]source{}}
		if _, err := c.take(layer{source{sort: fromPlace, place: place}, item.Defaults}); err != nil {
			return err
		}
		for _, key := range notInDefaults {
			if _, given := c.sources[key]; given {
				return fmt.Errorf("%s in %s is given, but a trainer cannot have a default for it", key, place)
			}
		}
	}
	return nil
}

// takeDefaults puts the defaults of the chosen trainer between psbench's own and the
// lowest other layer.
func (c *Config) takeDefaults(reg *registry.Registry) error {
	trainer, err := reg.Lookup(sdk.KindTrainer, c.Trainer)
	if err != nil {
		return fmt.Errorf("%s: %w", c.name("trainer"), err)
	}
	own := layer{source{sort: fromTrainer, place: trainer.Key}, trainer.Defaults}
	merged, err := merge(slices.Insert(slices.Clone(c.layers), 1, own))
	if err != nil {
		return err
	}
	merged.layers = c.layers
	*c = *merged
	return nil
}
