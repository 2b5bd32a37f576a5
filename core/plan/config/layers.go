package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"

	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/core/plan/config/option"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

// Sources holds the layers of a configuration above its defaults, lowest first. The JSON file that the option config of
// Environ or Flags names is below them.
type Sources struct {
	Base    *Layer         // above the named JSON file, in the same form
	Environ []string       // in the form of os.Environ; only PSBENCH_* variables count
	Extra   []Layer        // additional layers
	Flags   *pflag.FlagSet // parsed flags of AddFlags; may be nil
	Over    *Layer         // above all other layers; values may be an option.Text, as from a flag
	CUDA    CUDAFinder     // finds devices and plugin for CUDA ranks; nil if it is not available
	// Takes reports whether a part accepts a setting that a flag gave. If Takes is nil, the setting goes to the chosen
	// part of its kind, which must have it.
	Takes func(part sdk.Part, setting string) bool
}

// Layer is a set of values by key, as in a JSON file.
type Layer struct {
	Origin string
	Values map[string]any
}

// Config is the combination of all layers.
type Config struct {
	option.Options
	layers   []layer           // lowest first
	sources  map[string]source // source of each value, by key
	settings []assignment      // lowest layer first
	cuda     CUDAFinder
	takes    func(part sdk.Part, setting string) bool // copy of Sources.Takes
}

// Merge combines the layers. Unknown keys and values with a wrong type are errors, even if a higher layer overrides
// them.
func Merge(s Sources) (*Config, error) {
	fromEnv, err := readEnv(s.Environ)
	if err != nil {
		return nil, err
	}
	fromFlags, err := readFlags(s.Flags)
	if err != nil {
		return nil, err
	}
	layers := []layer{defaults()}
	if path, by := configPath(fromFlags, fromEnv); path != "" {
		fromFile, err := readFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", by, err)
		}
		layers = append(layers, fromFile)
	}
	if s.Base != nil {
		base, err := plain(*s.Base)
		if err != nil {
			return nil, err
		}
		layers = append(layers, base)
	}
	layers = append(layers, fromEnv)
	for _, extra := range s.Extra {
		l, err := plain(extra)
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	layers = append(layers, fromFlags)
	if s.Over != nil {
		layers = append(layers, layer{source: source{sort: fromPlace, place: s.Over.Origin}, values: s.Over.Values})
	}
	c, err := merge(layers)
	if err == nil {
		c.cuda, c.takes = s.CUDA, s.Takes
	}
	return c, err
}

func merge(layers []layer) (*Config, error) {
	k := koanf.New(".")
	c := &Config{layers: layers, sources: map[string]source{}}
	for _, l := range layers {
		values, err := c.take(l)
		if err != nil {
			return nil, err
		}
		if err := k.Load(confmap.Provider(values, ""), nil); err != nil {
			return nil, err
		}
	}
	if err := k.UnmarshalWithConf("", &c.Options, koanf.UnmarshalConf{Tag: "json"}); err != nil {
		return nil, err
	}
	return c, c.chooseReport()
}

// chooseReport selects the full report if the user wants the statistics of the original benchmark, because the original
// has no other report.
func (c *Config) chooseReport() error {
	switch {
	case c.Stats != "original" || c.Report == "full":
	case c.given("report"):
		return fmt.Errorf("%s is %s but %s is original, which is printed in full: leave %s out",
			c.name("report"), c.Report, c.name("stats"), c.name("report"))
	default:
		c.Report = "full"
	}
	return nil
}

// take checks the values of a layer and records their origin. take stores settings of parts in c and returns all other
// values.
func (c *Config) take(l layer) (map[string]any, error) {
	values := map[string]any{}
	for _, given := range slices.Sorted(maps.Keys(l.values)) {
		key := strings.ReplaceAll(given, "-", "_")
		o, ok := option.Of(key)
		if !ok {
			return nil, unknownKey(l.source, given)
		}
		if _, twice := values[key]; twice {
			return nil, fmt.Errorf("%s is given twice, with a dash and with an underscore", l.name(key))
		}
		c.sources[key] = l.source
		var err error
		if o.Type == option.Settings {
			err = c.takeSettings(l, l.values[given])
		} else {
			values[key], err = o.Parse(l.values[given])
			if err == nil && o.Stands != "" {
				err = c.standIn(l, o, values)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s %w", l.name(key), err)
		}
	}
	return values, c.takeInstead(l, values)
}

func (c *Config) name(key string) string   { return c.sources[key].name(key) }
func (c *Config) origin(key string) string { return c.sources[key].origin(key) }

// given reports whether a layer above the defaults contains the key.
func (c *Config) given(key string) bool { return c.sources[key].sort > fromPart }

// layer is a set of raw values from one source.
type layer struct {
	source
	values map[string]any
	// recorded means that the values come from a result. Settings of a result apply only to the parts of that result,
	// because another layer may choose other parts.
	recorded bool
}

func defaults() layer {
	l := layer{source: source{sort: fromDefault}, values: map[string]any{}}
	for _, o := range option.All() {
		if o.Default != "" {
			l.values[o.Key] = option.Text(o.Default)
		}
	}
	return l
}

func readFlags(flags *pflag.FlagSet) (layer, error) {
	l := layer{source: source{sort: fromFlag}}
	if flags == nil {
		return l, nil
	}
	var err error
	l.values, err = posflag.ProviderWithFlag(flags, ".", nil, option.OfFlag).Read()
	return l, err
}

// configPath returns the path of the JSON file from the first layer that has one. by is the name of the value that
// gives the path.
func configPath(layers ...layer) (path, by string) {
	for _, l := range layers {
		if path, ok := l.values["config"].(option.Text); ok {
			return string(path), l.name("config")
		}
	}
	return "", ""
}

func readFile(path string) (layer, error) {
	l := layer{source: source{sort: fromPlace, place: quote.Word(path)}}
	data, whole, err := jsonfile.ReadStart(path)
	if err != nil {
		return l, err
	}
	if l.values, l.recorded, err = recorded(quote.Word(path), data); err != nil || l.recorded {
		return l, err
	}
	if !whole {
		return l, jsonfile.TooLarge(path)
	}
	values, err := jsonfile.Map(path, data)
	if err != nil {
		return l, err
	}
	delete(values, "$schema")
	if _, nested := values["config"]; nested {
		return l, fmt.Errorf("%s has the key config, but a configuration file cannot name another one",
			quote.Word(path))
	}
	l.values = values
	return l, nil
}

// plain converts the values of a layer to the types that a JSON file would give.
func plain(l Layer) (layer, error) {
	data, err := json.Marshal(l.Values)
	if err != nil {
		return layer{}, fmt.Errorf("%s: %w", l.Origin, err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var values map[string]any
	err = dec.Decode(&values)
	return layer{source: source{sort: fromPlace, place: l.Origin}, values: values}, err
}

// standIn moves the value of option o to the option or setting for which o is another name.
func (c *Config) standIn(l layer, o option.Option, values map[string]any) error {
	value := values[o.Key]
	delete(values, o.Key)
	if kind, name, ok := strings.Cut(o.Stands, "."); ok {
		c.settings = append(c.settings, assignment{
			kind: sdk.Kind(kind), name: name, value: json.Number(fmt.Sprint(value)), label: l.name(o.Key),
			origin: l.origin(o.Key), stood: l.source,
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
