package option

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSetting(t *testing.T) {
	for _, test := range []struct {
		value any
		typ   string
		want  any // nil if an error is expected
	}{
		{Text("5"), "string", "5"},
		{Text(`"5"`), "string", "5"},
		{Text("null"), "string", "null"},
		{Text("a b"), "string", "a b"},
		{Text(""), "string", ""},
		{Text("5"), "integer", json.Number("5")},
		{Text("18446744073709551615"), "integer", json.Number("18446744073709551615")},
		{Text("18446744073709551616"), "integer", nil},
		{Text("5"), "number", json.Number("5")},
		{Text("1e-3"), "number", json.Number("1e-3")},
		{Text("1e3"), "integer", json.Number("1000")},
		{Text("+2.0"), "integer", json.Number("2")},
		{Text("2.5"), "integer", nil},
		{Text("1,000"), "integer", nil},
		{Text("0x10"), "integer", nil},
		{Text(".1"), "number", json.Number("0.1")},
		{Text("+5."), "number", json.Number("5")},
		{Text("1,5"), "number", nil},
		{Text("NaN"), "number", nil},
		{Text("True"), "bool", true},
		{Text("FALSE"), "bool", false},
		{Text("True"), "string", "True"},
		{Text(".1"), "string", ".1"},
		{Text("1.0"), "string", "1.0"},
		{Text(`[.5, +1, 2., True, "True .5", [1_0]]`), "list",
			[]any{json.Number("0.5"), json.Number("1"), json.Number("2"), true, "True .5", []any{json.Number("10")}}},
		{Text(`[1,,2]`), "list", nil},
		{json.Number("1e3"), "integer", json.Number("1000")},
		{Text("[1,000]"), "list", nil},
		{json.Number("1.5"), "integer", nil},
		{Text("5 6"), "number", nil},
		{Text("true"), "bool", true},
		{Text("yes"), "bool", nil},
		{Text("[1]"), "list", []any{json.Number("1")}},
		{Text(`{"a": 1}`), "object", map[string]any{"a": json.Number("1")}},
		{"5", "integer", nil},
		{json.Number("5"), "string", nil},
		{nil, "object", nil},
	} {
		t.Run(test.typ, func(t *testing.T) {
			got, err := Setting("x", test.value, test.typ)
			if (err != nil) != (test.want == nil) {
				t.Errorf("%v as %s: %v", test.value, test.typ, err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%v as %s: %s", test.value, test.typ, diff)
			}
		})
	}
}

// ListOf returns a list with the intended items, or nothing.
func TestListOf(t *testing.T) {
	for i, c := range []struct {
		value any
		want  string
	}{
		{Text("64"), "[64]"},
		{Text("64, 128"), "[64,128]"},
		{Text("64 128"), "[64,128]"},
		{Text("64;128"), "[64,128]"},
		{Text(" 64; 1e2 ,.5 "), "[64,1e2,0.5]"},
		{Text("a,b"), `["a","b"]`},
		{Text("64,x"), `[64,"x"]`},
		{Text("64;x"), ""},
		{Text("64 x"), ""},
		{Text("a b,c"), ""},
		{Text(";"), ""},
		{Text("[1"), ""},
		{Text("null"), ""},
		{Text(" "), ""},
		{"64;128", "[64,128]"},
		{64, ""},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if got := ListOf(c.value); got != c.want {
				t.Errorf("of %q it is %q, not %q", c.value, got, c.want)
			}
		})
	}
}
