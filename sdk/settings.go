package sdk

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/psbench/psbench/internal/settings"
)

// Setting describes one setting of a part.
type Setting struct {
	Name    string          `json:"name"`
	Type    string          `json:"type"` // bool, integer, number, string, list or object
	Default json.RawMessage `json:"default"`
	Doc     string          `json:"doc"`
}

// describeSettings lists the fields of a settings struct. The json tag names a setting, the doc tag
// describes it, and the field's value is the default. As in JSON, the fields of an embedded struct
// count as fields of the outer struct.
func describeSettings(defaults any) []Setting {
	v := reflect.ValueOf(defaults)
	if v.Kind() != reflect.Struct {
		panic(fmt.Sprintf("settings must be a struct, not %T", defaults)) // a bug in the plugin's source
	}
	return describeFields(v)
}

func describeFields(v reflect.Value) []Setting {
	var out []Setting
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && embedded(f) {
			out = append(out, describeFields(v.Field(i))...)
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		value, err := json.Marshal(v.Field(i).Interface())
		if err != nil {
			panic(fmt.Sprintf("the default of setting %s cannot be written as JSON: %v", name, err))
		}
		out = append(out, Setting{Name: name, Type: settings.JSONType(f.Type), Default: value, Doc: f.Tag.Get("doc")})
	}
	return out
}

// embedded reports whether f is an embedded struct, whose fields count as fields of the outer
// struct.
func embedded(f reflect.StructField) bool { return f.Anonymous && f.Type.Kind() == reflect.Struct }

// cloneSettings copies settings together with their lists. Decoding a list overwrites the old list,
// and the next build needs the defaults unchanged.
func cloneSettings[S any](defaults S) S {
	cloneLists(reflect.ValueOf(&defaults).Elem())
	return defaults
}

func cloneLists(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case embedded(v.Type().Field(i)):
			cloneLists(f)
		case f.Kind() == reflect.Slice && f.CanSet() && !f.IsNil():
			list := reflect.MakeSlice(f.Type(), f.Len(), f.Len())
			reflect.Copy(list, f)
			f.Set(list)
		}
	}
}
