package config

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/plan/config/option"
)

func TestParseAssignments(t *testing.T) {
	for _, test := range []struct {
		list string
		want []string // kind.name=value
	}{
		{"", nil},
		{" , ", []string{"error"}},
		{"model.sparse=true", []string{"model.sparse=true"}},
		{"model.sparse=true, trainer.lr=0.1,", []string{"model.sparse=true", "trainer.lr=0.1"}},
		{`data.inputs=[[1,2],[3]],data.targets=[4, 5]`, []string{"data.inputs=[[1,2],[3]]", "data.targets=[4, 5]"}},
		{`data.path="a,b.csv",data.format=csv`, []string{`data.path="a,b.csv"`, "data.format=csv"}},
		{"model.sizes=[+3, .5,[True]],trainer.lr=.5", []string{"model.sizes=[+3, .5,[True]]", "trainer.lr=.5"}},
		{"model.sizes=[.5,nan]", []string{"error"}},
		{"data.path=a=b,data.format=", []string{"data.path=a=b", "data.format="}},
		{"data.path=a,b.csv", []string{"error"}},
	} {
		got := []string(nil)
		assignments, err := parseAssignments(test.list)
		if err != nil {
			got = []string{"error"}
		} else {
			for _, a := range assignments {
				got = append(got, string(a.kind)+"."+a.name+"="+string(a.value.(option.Text)))
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.list, diff)
		}
	}
}

func TestAsType(t *testing.T) {
	for _, test := range []struct {
		value any
		typ   string
		want  any // nil for an error
	}{
		{option.Text("5"), "string", "5"},
		{option.Text(`"5"`), "string", "5"},
		{option.Text("null"), "string", "null"},
		{option.Text("a b"), "string", "a b"},
		{option.Text(""), "string", ""},
		{option.Text("5"), "integer", json.Number("5")},
		{option.Text("18446744073709551615"), "integer", json.Number("18446744073709551615")},
		{option.Text("18446744073709551616"), "integer", nil},
		{option.Text("5"), "number", json.Number("5")},
		{option.Text("1e-3"), "number", json.Number("1e-3")},
		{option.Text("1e3"), "integer", json.Number("1000")},
		{option.Text("+2.0"), "integer", json.Number("2")},
		{option.Text("2.5"), "integer", nil},
		{option.Text("1,000"), "integer", nil},
		{option.Text("0x10"), "integer", nil},
		{option.Text(".1"), "number", json.Number("0.1")},
		{option.Text("+5."), "number", json.Number("5")},
		{option.Text("1,5"), "number", nil},
		{option.Text("NaN"), "number", nil},
		{option.Text("True"), "bool", true},
		{option.Text("FALSE"), "bool", false},
		{option.Text("True"), "string", "True"},
		{option.Text(".1"), "string", ".1"},
		{option.Text("1.0"), "string", "1.0"},
		{option.Text(`[.5, +1, 2., True, "True .5", [1_0]]`), "list", []any{json.Number("0.5"), json.Number("1"), json.Number("2"), true, "True .5", []any{json.Number("10")}}},
		{option.Text(`[1,,2]`), "list", nil},
		{json.Number("1e3"), "integer", json.Number("1000")},
		{option.Text("[1,000]"), "list", nil},
		{json.Number("1.5"), "integer", nil},
		{option.Text("5 6"), "number", nil},
		{option.Text("true"), "bool", true},
		{option.Text("yes"), "bool", nil},
		{option.Text("[1]"), "list", []any{json.Number("1")}},
		{option.Text(`{"a": 1}`), "object", map[string]any{"a": json.Number("1")}},
		{"5", "integer", nil},
		{json.Number("5"), "string", nil},
		{nil, "object", nil},
	} {
		got, err := assignment{label: "x", value: test.value}.asType(test.typ)
		if (err != nil) != (test.want == nil) {
			t.Errorf("%v as %s: %v", test.value, test.typ, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%v as %s: %s", test.value, test.typ, diff)
		}
	}
}

func FuzzParseAssignments(f *testing.F) {
	for _, seed := range []string{"model.sparse=true,trainer.lr=0.1", `data.inputs=[[1,2]],data.path="x"`, "=", "model.=", `model.x={"a":`, "a.b=,"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		assignments, err := parseAssignments(list)
		if err != nil {
			return
		}
		for _, a := range assignments {
			if a.kind == "" || a.name == "" {
				t.Errorf("%q gives %+v", list, a)
			}
			for typ := range typeNames {
				value, err := a.asType(typ)
				if err != nil {
					continue
				}
				if _, err := json.Marshal(value); err != nil {
					t.Errorf("%q as %s cannot be written: %v", list, typ, err)
				}
			}
		}
	})
}
