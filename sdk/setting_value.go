package sdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// CheckValue says what is wrong with the value of a setting, whatever its type: JSON whose
// numbers are json.Number. A number must be one that a float32 can hold, since everything
// is computed with those: a larger one would be infinite, a smaller one 0. A list must hold
// no null, which encoding/json takes for 0 in a list of numbers. The error begins with what
// the value does, as in "is 1e39 but must be ...".
func CheckValue(value any) error {
	place, bad, found := faultOf(value)
	const held = "a number that a float32 can hold: 0, or from 1.4e-45 to 3.4e38 in size"
	switch {
	case !found:
		return nil
	case bad == nil:
		return fmt.Errorf("holds null at %s but must hold a value there", place)
	case place == "":
		return fmt.Errorf("is %v but must be %s", bad, held)
	default:
		return fmt.Errorf("holds %v at %s but must hold %s", bad, place, held)
	}
}

// faultOf finds what must not be in a value, and its place there, as in [3][1].
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

// fitsFloat32 says that a number is neither infinite as a float32 nor 0 unless it is 0.
func fitsFloat32(n json.Number) bool {
	v, err := strconv.ParseFloat(string(n), 32)
	mantissa, _, _ := strings.Cut(strings.ToLower(string(n)), "e")
	return err == nil && (v != 0 || !strings.ContainsAny(mantissa, "123456789"))
}
