// Package settings decodes the settings of parts and reports invalid values.
package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/quote"
)

// Decode reads a JSON object into dst, which already holds the defaults.
func Decode(raw []byte, dst any) error {
	if len(raw) == 0 {
		return nil
	}
	var values map[string]any // nil if raw is not an object; the decoder below reports that
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	_ = dec.Decode(&values)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := CheckValue(values[name]); err != nil {
			return fmt.Errorf("setting %s %w", quote.Word(name), err)
		}
	}
	err := decode(raw, dst)
	// the decoder also reports 1.0 for an integer
	if typ := (*json.UnmarshalTypeError)(nil); errors.As(err, &typ) && values != nil {
		values, _ = plain(values, reflect.TypeOf(dst).Elem(), false).(map[string]any)
		if written, e := json.Marshal(values); e == nil {
			err = decode(written, dst)
		}
	}
	if err == nil {
		return nil
	}
	if typ := (*json.UnmarshalTypeError)(nil); errors.As(err, &typ) {
		if place, bad, wanted := misfit(values, reflect.TypeOf(dst).Elem()); values != nil && wanted != nil {
			return fmt.Errorf("setting %s is %s but must be %s", quote.Text(strings.TrimPrefix(place, ".")), show(bad),
				typeWords(wanted))
		}
		return fmt.Errorf("the settings must be a JSON object, not %s", quote.Text(typ.Value))
	}
	return fmt.Errorf("the settings cannot be read: %w", err)
}

func decode(raw []byte, dst any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	return dec.Decode(dst)
}

// plain rewrites a value for a field of type t. plain writes whole numbers for integers without point or exponent,
// because encoding/json refuses 1.0 and 1e3. In lists of numbers, it replaces true and false by 1 and 0.
func plain(value any, t reflect.Type, inList bool) any {
	switch v := value.(type) {
	case bool:
		if kind := JSONType(t); inList && (kind == "integer" || kind == "number") {
			return json.Number(map[bool]string{false: "0", true: "1"}[v])
		}
	case json.Number:
		if digits, err := numeral.Whole(string(v)); err == nil && JSONType(t) == "integer" {
			return json.Number(digits)
		}
	case []any:
		if t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
			for i := range v {
				v[i] = plain(v[i], t.Elem(), true)
			}
		}
	case map[string]any:
		for name := range v {
			if element := elementOf(t, name); element != nil {
				v[name] = plain(v[name], element, false)
			}
		}
	}
	return value
}

// elementOf returns the type of an object's element with this name, if the object is decoded as a t. elementOf
// returns nil if t has no such element.
func elementOf(t reflect.Type, name string) reflect.Type {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem()
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			if field, _, _ := strings.Cut(f.Tag.Get("json"), ","); field == name && name != "" {
				return f.Type
			}
		}
	}
	return nil
}

// CheckValue returns an error if the value of a setting is invalid for every type. The value is JSON with numbers
// as json.Number. A float32 must be able to hold each number, because all computation uses float32: a larger number
// would become infinite, a smaller one 0. A list must not contain null, because encoding/json reads null as 0 in a
// list of numbers. The error begins with a verb, as in "is 1e39 but must be ...".
func CheckValue(value any) error {
	place, bad, found := faultOf(value)
	const held = "a number that a float32 can hold: 0, or from 1.4e-45 to 3.4e38 in size"
	switch {
	case !found:
		return nil
	case bad == nil:
		return fmt.Errorf("holds null at %s but must hold a value there", quote.Text(place))
	case place == "":
		return fmt.Errorf("is %s but must be %s", show(bad), held)
	default:
		return fmt.Errorf("holds %s at %s but must hold %s", show(bad), quote.Text(place), held)
	}
}

// faultOf finds an invalid element in a value, and its place there, such as [3][1].
func faultOf(value any) (place string, bad any, found bool) {
	switch v := value.(type) {
	case json.Number:
		return "", v, !fitsFloat32(v)
	case []any:
		for i, element := range v {
			if element == nil {
				return fmt.Sprintf("[%d]", i), nil, true
			}
			if place, bad, found := faultOf(element); found {
				return fmt.Sprintf("[%d]%s", i, place), bad, true
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if place, bad, found := faultOf(v[key]); found {
				return "." + key + place, bad, true
			}
		}
	}
	return "", nil, false
}

// fitsFloat32 reports whether a number is finite as a float32, and not 0 unless it is exactly 0.
func fitsFloat32(n json.Number) bool {
	v, err := strconv.ParseFloat(string(n), 32)
	mantissa, _, _ := strings.Cut(strings.ToLower(string(n)), "e")
	return err == nil && (v != 0 || !strings.ContainsAny(mantissa, "123456789"))
}

// misfit finds the element that made decoding as a t fail, and its place, such as .sizes[3]. The error of
// encoding/json has neither the index nor the value of a string. The type wanted is nil if all elements fit.
func misfit(value any, t reflect.Type) (place string, bad any, wanted reflect.Type) {
	switch v := value.(type) {
	case []any:
		if t.Kind() != reflect.Slice {
			break
		}
		for i, element := range v {
			if place, bad, wanted := misfit(element, t.Elem()); wanted != nil {
				return fmt.Sprintf("[%d]%s", i, place), bad, wanted
			}
		}
		return "", nil, nil
	case map[string]any:
		if t.Kind() != reflect.Struct {
			break
		}
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if element, given := v[name]; given && name != "" {
				if place, bad, wanted := misfit(element, f.Type); wanted != nil {
					return "." + name + place, bad, wanted
				}
			}
		}
		return "", nil, nil
	}
	text, err := json.Marshal(value)
	if err == nil && json.Unmarshal(text, reflect.New(t).Interface()) == nil {
		return "", nil, nil
	}
	return "", value, t
}

// typeWords describes the values that a setting of a type accepts.
func typeWords(t reflect.Type) string {
	if w, ok := reflect.Zero(t).Interface().(interface{ Words() string }); ok {
		return w.Words() // the type reads its JSON itself
	}
	switch JSONType(t) {
	case "bool":
		return "true or false"
	case "integer":
		if t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64 {
			return fmt.Sprintf("a whole number of 0 or more that fits in %d bits", t.Bits())
		}
		return fmt.Sprintf("a whole number that fits in %d bits", t.Bits())
	case "object":
		return "an object"
	default:
		return "a " + JSONType(t)
	}
}

// show returns a value as printable JSON.
func show(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return quote.Text(fmt.Sprint(value))
	}
	return quote.Text(string(text))
}

// JSONType returns the JSON type of a setting with this Go type: bool, integer, number, string, list or object.
func JSONType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "bool"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "integer"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.String:
		return "string"
	case reflect.Slice, reflect.Array:
		return "list"
	default:
		return "object"
	}
}
