package config

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/sdk"
)

// standIn gives what the option o of a layer stands for its value.
func (c *Config) standIn(l layer, o option.Option, values map[string]any) error {
	value := values[o.Key]
	delete(values, o.Key)
	if kind, name, ok := strings.Cut(o.Stands, "."); ok {
		c.settings = append(c.settings, assignment{
			kind: sdk.Kind(kind), name: name, value: json.Number(fmt.Sprint(value)), label: l.name(o.Key), origin: l.origin(o.Key), stood: l.source,
		})
		return nil
	}
	if _, twice := values[o.Stands]; twice {
		return fmt.Errorf("and %s are both given, but are the same", l.name(o.Stands))
	}
	given := l.source
	given.as = o.Key
	values[o.Stands], c.sources[o.Stands] = value, given
	return nil
}
