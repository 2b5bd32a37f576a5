package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		{"data.path=a=b,data.format=", []string{"data.path=a=b", "data.format="}},
		{"data.path=a,b.csv", []string{"error"}},
	} {
		got := []string(nil)
		assignments, err := parseAssignments(test.list)
		if err != nil {
			got = []string{"error"}
		} else {
			for _, a := range assignments {
				got = append(got, string(a.kind)+"."+a.name+"="+string(a.value.(text)))
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
		{text("5"), "string", "5"},
		{text(`"5"`), "string", "5"},
		{text("null"), "string", "null"},
		{text("a b"), "string", "a b"},
		{text(""), "string", ""},
		{text("5"), "integer", json.Number("5")},
		{text("18446744073709551615"), "integer", json.Number("18446744073709551615")},
		{text("18446744073709551616"), "integer", nil},
		{text("5"), "number", json.Number("5")},
		{text("1e-3"), "number", json.Number("1e-3")},
		{text("1e3"), "integer", nil},
		{text("5 6"), "number", nil},
		{text("true"), "bool", true},
		{text("yes"), "bool", nil},
		{text("[1]"), "list", []any{json.Number("1")}},
		{text(`{"a": 1}`), "object", map[string]any{"a": json.Number("1")}},
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

func TestEveryOptionIsDescribed(t *testing.T) {
	groups := map[string]bool{}
	for _, g := range Groups {
		groups[g.Name] = true
	}
	for _, o := range All() {
		if o.Key == "" || o.Doc == "" || !groups[o.Group] {
			t.Errorf("option %+v lacks a key, a description or a known group", o)
		}
		if strings.ContainsAny(o.Key, "- ") {
			t.Errorf("key %q must be words with underscores", o.Key)
		}
	}
}
