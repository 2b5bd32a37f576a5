// Package settings decodes the settings of parts, and says what is wrong with a value.
package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/psbench/psbench/internal/quote"
)

// Decode reads a JSON object into dst, which holds the defaults.
func Decode(raw []byte, dst any) error {
	if len(raw) == 0 {
		return nil
	}
	var values map[string]any // nil if raw is no object, of which the decoder below tells
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	_ = dec.Decode(&values)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := CheckValue(values[name]); err != nil {
			return fmt.Errorf("setting %s %w", quote.Word(name), err)
		}
	}
	dec = json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	err := dec.Decode(dst)
	if err == nil {
		return nil
	}
	if typ := (*json.UnmarshalTypeError)(nil); errors.As(err, &typ) {
		if place, bad, wanted := misfit(values, reflect.TypeOf(dst).Elem()); values != nil && wanted != nil {
			return fmt.Errorf("setting %s is %s but must be %s", quote.Text(strings.TrimPrefix(place, ".")), show(bad), typeWords(wanted))
		}
		return fmt.Errorf("the settings must be a JSON object, not %s", quote.Text(typ.Value))
	}
	return fmt.Errorf("the settings cannot be read: %w", err)
}
