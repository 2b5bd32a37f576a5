package option

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/internal/bytesize"
	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/quote"
)

// Parse converts the raw value of a layer to the Go value of the option. In JSON layers, raw values are bool, string,
// json.Number and []any.
func (o Option) Parse(raw any) (any, error) {
	switch o.Type {
	case Integer:
		return o.parseInteger(raw)
	case Number:
		return o.parseNumber(raw)
	case Size:
		return o.parseSize(raw)
	case Bool:
		return parseBool(raw)
	case List:
		return o.parseList(raw)
	default:
		return o.parseString(raw)
	}
}

// digitsOf returns the text of a number, or "" if raw is not a number.
func digitsOf(raw any) string {
	switch v := raw.(type) {
	case Text:
		return string(v)
	case json.Number:
		return v.String()
	}
	return ""
}

func (o Option) parseInteger(raw any) (any, error) {
	n, err := numeral.Uint(digitsOf(raw))
	if signed, wrong := numeral.Int(digitsOf(raw)); wrong == nil && signed < 0 && o.Max == math.MaxUint64 {
		n, err = uint64(signed), nil // #nosec G115 -- PyTorch, too, takes the bits of a seed below 0
	}
	switch {
	case err == nil && n == 0 && o.ZeroIsMax:
		return o.Max, nil
	case err == nil && n >= o.Min && n <= o.Max:
		return n, nil
	case o.Max == math.MaxUint64:
		return nil, fmt.Errorf("is %s but must be a whole number that fits in 64 bits%s", Show(raw), numeral.Why(err))
	default:
		return nil, fmt.Errorf("is %s but must be a whole number from %d to %d%s", Show(raw), o.Min, o.Max,
			numeral.Why(err))
	}
}

func (o Option) parseNumber(raw any) (any, error) {
	n, err := numeral.Float(digitsOf(raw), 64)
	if err == nil && n > 0 && n <= float64(o.Max) {
		return n, nil
	}
	return nil, fmt.Errorf("is %s but must be a number above 0 and at most %d%s", Show(raw), o.Max, numeral.Why(err))
}

// parseSize returns the size as a string. parseSize uses the largest unit that divides the size.
func (o Option) parseSize(raw any) (any, error) {
	text := digitsOf(raw)
	if s, ok := raw.(string); ok {
		text = s
	}
	n, err := bytesize.Parse(text)
	if errors.Is(err, bytesize.ErrUnit) {
		return nil, err
	}
	if err != nil || uint64(n) < o.Min { // #nosec G115 -- not negative
		return nil, fmt.Errorf("is %s but must be a size of %s or more, such as 2GiB", Show(raw), bytesize.Format(int(o.Min))) // #nosec G115 -- a tag
	}
	return bytesize.Format(n), nil
}

func parseBool(raw any) (any, error) {
	switch v := raw.(type) {
	case bool:
		return v, nil
	case Text:
		if b, err := strconv.ParseBool(strings.TrimSpace(string(v))); err == nil {
			return b, nil
		}
	}
	return nil, fmt.Errorf("is %s but must be true or false", Show(raw))
}

func (o Option) parseString(raw any) (any, error) {
	var s string
	switch v := raw.(type) {
	case Text:
		s = string(v)
	case string:
		s = v
	case json.Number: // a number, such as a port
		s = v.String()
	default:
		return nil, fmt.Errorf("is %s but must be a string", Show(raw))
	}
	if digits, err := numeral.Whole(s); err == nil && o.OrInteger {
		s = digits
	}
	return s, o.checkEnum(s)
}

func (o Option) parseList(raw any) (any, error) {
	var items []string
	switch v := raw.(type) {
	case Text:
		items = splitList(string(v))
	case string:
		items = splitList(v)
	case []any:
		for _, item := range v {
			s, ok := item.(string)
			if !ok {
				return nil, fmt.Errorf("holds %s but must be a list of strings", Show(item))
			}
			items = append(items, s)
		}
	default:
		return nil, fmt.Errorf("is %s but must be a list of strings", Show(raw))
	}
	for _, item := range items {
		if err := o.checkEnum(item); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// splitList splits a list from a flag or the environment at commas.
func splitList(list string) []string {
	var items []string
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

func (o Option) checkEnum(s string) error {
	if len(o.Enum) == 0 || slices.Contains(o.Enum, s) {
		return nil
	}
	if o.OrInteger {
		if n, err := strconv.ParseUint(s, 10, 64); err == nil && n >= o.Min && n <= o.Max {
			return nil
		}
		return fmt.Errorf("is %s but must be %s, or a whole number from %d to %d", quote.String(s), OneOf(o.Enum),
			o.Min, o.Max)
	}
	return fmt.Errorf("is %s but must be %s", quote.String(s), OneOf(o.Enum))
}

// OneOf formats alternatives as "a, b or c".
func OneOf(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Show formats a value as JSON, so that the string "5" differs from the number 5.
func Show(v any) string {
	if t, ok := v.(Text); ok && json.Valid([]byte(t)) {
		return quote.Text(string(t))
	}
	written, err := json.Marshal(v)
	if err != nil {
		return quote.Text(fmt.Sprint(v))
	}
	return quote.Text(string(written))
}
