package jsonfile

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type shape struct {
	Name  string           `json:"name"`
	Count int              `json:"count"`
	Seed  uint64           `json:"seed"`
	Rate  float64          `json:"rate"`
	Inner map[string]inner `json:"inner"`
	List  []inner          `json:"list"`
}

type inner struct {
	base
	Command []string `json:"command"`
}

type base struct {
	Plugin string `json:"plugin"`
}

func TestDecode(t *testing.T) {
	var got shape
	err := Decode("f",
		[]byte(`{"name": "a", "count": 3, "inner": {"x": {"plugin": "p", "command": ["c"]}}, "list": [{}]}`), &got)
	if err != nil {
		t.Fatal(err)
	}
	want := shape{Name: "a", Count: 3, Inner: map[string]inner{"x": {base{"p"}, []string{"c"}}}, List: []inner{{}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(inner{})); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"empty", " \n", "f is empty but must hold an object: {...}"},
		{"no object", `[1]`, "f holds a list but must hold an object: {...}"},
		{"null", `null`, "f holds null but must hold an object: {...}"},
		{"missing comma", "{\n  \"name\": \"a\"\n  \"count\": 1\n}",
			`f, line 3, column 3: invalid character '"' after object key:value pair`},
		{"column counts characters", "{\"né\": x}",
			`f, line 1, column 8: invalid character 'x' looking for beginning of value`},
		{"cut short", "{\n  \"name\": ", "f, line 2, column 11: unexpected end of JSON input"},
		{"trailing data", "{}\n{}", "f, line 2, column 1: invalid character '{' after top-level value"},
		{"trailing comma", "{\"count\": 1,}",
			`f, line 1, column 13: invalid character '}' looking for beginning of object key string`},
		{"unknown key", "{\n  \"nmae\": 1}", `f, line 2, column 3: unknown key "nmae"; did you mean "name"?`},
		{"unknown key, no near one", `{"zzzzzz": 1}`,
			`f, line 1, column 2: unknown key "zzzzzz"; the keys are count, inner, list, name, rate, seed`},
		{"other case", `{"Name": "a"}`, `f, line 1, column 2: unknown key "Name"; did you mean "name"?`},
		{"unknown inner key", `{"inner": {"x": {"plugni": "p"}}}`,
			`f, line 1, column 18: unknown key "plugni" of inner.x; did you mean "plugin"?`},
		{"unknown key in a list", `{"list": [{"a": 1}]}`,
			`f, line 1, column 12: unknown key "a" of list; the keys are command, plugin`},
		{"key twice", "{\"name\": \"a\",\n \"name\": \"b\"}", `f, line 2, column 2: key "name" is given twice`},
		{"inner key twice", `{"inner": {"x": {}, "x": {}}}`, `f, line 1, column 21: key "inner.x" is given twice`},
		{"wrong type", "{\n \"count\": \"x\"}",
			"f, line 2, column 11: the value must be a whole number that fits in 64 bits, not string"},
		{"fraction", `{"count": 1.5}`,
			"f, line 1, column 11: the value must be a whole number that fits in 64 bits, not 1.5"},
		{"too many digits", `{"count": 99999999999999999999}`,
			"f, line 1, column 11: the value must be a whole number that fits in 64 bits, not 99999999999999999999"},
		{"below 0", `{"seed": -1}`,
			"f, line 1, column 10: the value must be a whole number of 0 or more that fits in 64 bits, not -1"},
		{"too large", `{"rate": 1e400}`,
			"f, line 1, column 10: the value must be a number of at most 1.8e308, not 1e400"},
		{"object for list", `{"inner": {"x": {"command": {}}}}`,
			"f, line 1, column 29: the value must be a list, not object"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var dst shape
			err := Decode("f", []byte(test.text), &dst)
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

// Integers are accepted in all notations. Integers do not change the positions of later errors.
func TestDecodeWholeNumbers(t *testing.T) {
	var got shape
	if err := Decode("f",
		[]byte(`{"count": 3.0, "seed": 1.8446744073709551615e19, "rate": 2, "list": [{}], "inner": {"a": {}}}`),
		&got); err != nil {
		t.Fatal(err)
	}
	if got.Count != 3 || got.Seed != 18446744073709551615 || got.Rate != 2 {
		t.Errorf("it is %+v", got)
	}
	for _, c := range []struct{ text, want string }{
		{`{"count": 1e18, "seed": 2.5}`,
			"f, line 1, column 25: the value must be a whole number of 0 or more that fits in 64 bits, not 2.5"},
		{`{"seed": 100.0000, "count": "x"}`,
			"f, line 1, column 29: the value must be a whole number that fits in 64 bits, not string"},
		{`{"count": 1e400}`, "f, line 1, column 11: the value must be a whole number that fits in 64 bits, not 1e400"},
		{`{"seed": -1.0}`,
			"f, line 1, column 10: the value must be a whole number of 0 or more that fits in 64 bits, not -1"},
	} {
		t.Run(c.text, func(t *testing.T) {
			if err := Decode("f", []byte(c.text), &shape{}); err == nil || err.Error() != c.want {
				t.Errorf("%s gives\n  %v\nwant\n  %s", c.text, err, c.want)
			}
		})
	}
}

func TestMapKeepsDigits(t *testing.T) {
	got, err := Map("f", []byte(`{"seed": 18446744073709551615, "deep": {"a": {"b": [1]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"seed": json.Number("18446744073709551615"),
		"deep": map[string]any{"a": map[string]any{"b": []any{json.Number("1")}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadMap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.json")
	if _, err := ReadMap(path); err == nil ||
		!strings.HasSuffix(err.Error(), "f.json cannot be read: no such file or directory") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(path, []byte(`{"a": true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadMap(path)
	for text, want := range map[string]string{"\uFEFF{\"a\": true}": "",
		"\xff\xfe{\x00}\x00": "f.json cannot be read: its text is in UTF-16: save it as UTF-8"} {
		t.Run(text, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			marked, err := ReadMap(path)
			if said := fmt.Sprint(err); want == "" && !cmp.Equal(marked, got) ||
				want != "" && !strings.HasSuffix(said, want) {
				t.Errorf("%q gives %v and %v", text, marked, err)
			}
		})
	}
	if diff := cmp.Diff(map[string]any{"a": true}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"name": "a"}`, `{"list": [{"plugin": 1}]}`, "{\n\"count\": 1,}",
		`{"inner": {"x": {}, "x": {}}}`, "\xff{", `{"a":`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var dst shape
		if err := Decode("f", data, &dst); err != nil && !strings.HasPrefix(err.Error(), "f") {
			t.Errorf("the error does not begin with the file's name: %v", err)
		}
		m, err := Map("f", data)
		if err == nil && !json.Valid(data) {
			t.Errorf("accepted malformed JSON as %v", m)
		}
	})
}

func FuzzPosition(f *testing.F) {
	f.Add([]byte("a\nbé\n"), int64(4))
	f.Fuzz(func(t *testing.T, data []byte, offset int64) {
		got := Position("f", data, offset)
		if !strings.HasPrefix(got, "f, line ") {
			t.Errorf("got %q", got)
		}
	})
}
