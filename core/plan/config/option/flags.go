package option

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/psbench/psbench/internal/numeral"
)

// AddFlags adds the flags of all options to a set, or only of those with the given keys. Afterwards the set treats
// underscores in flags as dashes.
func AddFlags(flags *pflag.FlagSet, keys ...string) {
	flags.SetNormalizeFunc(DashedFlag)
	for _, o := range All() {
		if len(keys) > 0 && !slices.Contains(keys, o.Key) {
			continue
		}
		f := flags.VarPF(&flagValue{option: o}, o.Flag(), "", o.Doc+o.choices())
		f.DefValue = o.Default
		if o.Type == Bool {
			f.NoOptDefVal = "true"
		}
	}
}

// DashedFlag returns the canonical spelling of a flag, with dashes.
func DashedFlag(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

func (o Option) choices() string {
	if len(o.Enum) == 0 || strings.Contains(o.Doc, o.Enum[0]) {
		return ""
	}
	return ": " + OneOf(o.Enum)
}

// flagValue stores the text that the user gave. Merge parses it like the values of all layers.
type flagValue struct {
	option Option
	given  []string
}

func (v *flagValue) String() string { return strings.Join(v.given, ",") }

func (v *flagValue) Set(s string) error {
	v.given = append(v.given, s)
	return nil
}

// Type returns the placeholder for the value in the help text.
func (v *flagValue) Type() string {
	switch {
	case v.option.Type == Integer:
		return "N"
	case v.option.Type == Number:
		return "T"
	case v.option.Type == Size:
		return "SIZE"
	case v.option.OrInteger:
		return strings.Join(append(slices.Clone(v.option.Enum), "N"), "|")
	case v.option.Type == Bool:
		return "bool" // for bool, pflag shows no placeholder
	case v.option.Type == Settings:
		return "kind.setting=value"
	case v.option.Type == List && len(v.option.Enum) > 0:
		return "KIND,..."
	case v.option.Group == "files" || v.option.Key == "json" || v.option.Key == "filestore":
		return "FILE"
	case v.option.Key == "out" || v.option.Key == "log_dir":
		return "DIR"
	case v.option.Kind != "":
		return "KEY"
	default:
		return "TEXT"
	}
}

// OfFlag returns the key of the option that a flag of AddFlags sets, and the given value. key is "" for other flags.
func OfFlag(f *pflag.Flag) (key string, value any) {
	v, ok := f.Value.(*flagValue)
	if !ok {
		return "", nil
	}
	return v.option.Key, v.raw()
}

// raw returns the value for Merge. If a flag was given several times, the last value counts, unless the option collects
// values.
func (v *flagValue) raw() any {
	switch {
	case len(v.given) == 0:
		return nil
	case v.option.Type == Settings:
		return v.given
	case v.option.Type == List:
		return Text(strings.Join(v.given, ","))
	default:
		return Text(v.given[len(v.given)-1])
	}
}

// Text is a value from a flag or the environment. The type of the option determines how a Text is parsed.
type Text string

// Value parses the text as JSON. If the text is not JSON, Value returns the text itself. Within lists and objects,
// numbers may have the forms of package numeral, and truth values may have Python's spelling.
func (t Text) Value() any {
	if text := strings.TrimSpace(string(t)); strings.HasPrefix(text, "[") || strings.HasPrefix(text, "{") {
		written, _ := numeral.InJSON(text)
		t = Text(written)
	}
	dec := json.NewDecoder(strings.NewReader(string(t)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil || !json.Valid([]byte(t)) {
		return string(t)
	}
	return v
}
