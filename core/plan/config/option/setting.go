package option

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/settings"
)

// Setting parses a value as a setting of a part. typ is the type of the setting. Errors begin with label.
func Setting(label string, given any, typ string) (any, error) {
	value := given
	var why error
	if t, ok := value.(Text); ok {
		value = t.Value()
		if _, isString := value.(string); typ == "string" && !isString {
			return string(t), nil
		}
		value, why = plainValue(string(t), value, typ)
	}
	if n, ok := value.(json.Number); ok && typ == "integer" {
		if digits, err := numeral.Whole(string(n)); err == nil {
			value = json.Number(digits)
		}
	}
	if fits(value, typ) {
		if err := settings.CheckValue(value); err != nil {
			return nil, fmt.Errorf("%s %w", label, err)
		}
		return value, nil
	}
	if list := ListOf(given); typ == "list" && list != "" && why == nil {
		return nil, fmt.Errorf("%s is %s but must be a list: write %s", label, Show(given), list)
	}
	return nil, fmt.Errorf("%s is %s but must be %s%s", label, Show(given), typeNames[typ], numeral.Why(why))
}

// plainValue handles a text that is not valid JSON for the type but is valid for package numeral. plainValue returns
// the value of such a text. For any other text, plainValue returns value unchanged.
func plainValue(text string, value any, typ string) (any, error) {
	switch typ {
	case "integer", "number":
		number, err := numeral.JSON(text)
		if err == nil {
			return json.Number(number), nil
		}
		return value, err
	case "list":
		if _, is := value.([]any); !is && numeral.Grouped(text) {
			return value, numeral.ErrComma
		}
	case "bool":
		if truth := numeral.Truth(text); truth != text { // 1 stays a number
			return truth == "1", nil
		}
	}
	return value, nil
}

var typeNames = map[string]string{
	"bool": "true or false", "integer": "a whole number", "number": "a number",
	"string": "a string", "list": "a list", "object": "an object",
}

func fits(value any, typ string) bool {
	switch v := value.(type) {
	case bool:
		return typ == "bool"
	case string:
		return typ == "string"
	case []any:
		return typ == "list"
	case map[string]any:
		return typ == "object"
	case json.Number:
		return typ == "number" || typ == "integer" && isInteger(v)
	default:
		return false
	}
}

// isInteger reports whether n is an integer that fits in 64 bits, signed or unsigned.
func isInteger(n json.Number) bool {
	var i int64
	var u uint64
	return json.Unmarshal([]byte(n), &i) == nil || json.Unmarshal([]byte(n), &u) == nil
}

// ListOf returns the JSON list for a text that lacks brackets, such as [64,128] for 64,128. ListOf returns "" if value
// is not a text, begins like JSON, or cannot be split by itemsOf.
func ListOf(value any) string {
	text := ""
	switch v := value.(type) {
	case Text:
		text = string(v)
	case string:
		text = v
	}
	if text = strings.TrimSpace(text); text == "" || text == "null" || strings.ContainsRune(`[{"`, rune(text[0])) {
		return ""
	}
	var items []string
	for _, item := range itemsOf(text) {
		written, err := json.Marshal(Text(item).Value())
		if err != nil {
			return ""
		}
		items = append(items, string(written))
	}
	if len(items) == 0 {
		return ""
	}
	return "[" + strings.Join(items, ",") + "]"
}

// itemsOf splits a text into items. If all pieces between commas, semicolons and spaces are numbers, it splits at all
// three, otherwise only at commas. itemsOf returns nil if an item then contains a semicolon or a space, because this
// may be a separator or belong to the item.
func itemsOf(text string) []string {
	separates := func(r rune) bool { return r == ';' || unicode.IsSpace(r) }
	if numbers := numbersIn(strings.FieldsFunc(text,
		func(r rune) bool { return r == ',' || separates(r) })); numbers != nil {
		return numbers
	}
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if strings.ContainsFunc(item, separates) {
			return nil
		}
		items = append(items, item)
	}
	return items
}

// numbersIn converts the pieces to JSON numbers. numbersIn returns nil unless all pieces are numbers.
func numbersIn(pieces []string) []string {
	var numbers []string
	for _, piece := range pieces {
		number, err := numeral.JSON(piece)
		if err != nil {
			return nil
		}
		numbers = append(numbers, number)
	}
	return numbers
}
