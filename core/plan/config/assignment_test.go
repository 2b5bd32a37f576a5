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
		want []string // each is kind.name=value
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
		t.Run(test.list, func(t *testing.T) {
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
		})
	}
}

func FuzzParseAssignments(f *testing.F) {
	for _, seed := range []string{"model.sparse=true,trainer.lr=0.1", `data.inputs=[[1,2]],data.path="x"`, "=",
		"model.=", `model.x={"a":`, "a.b=,"} {
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
			for _, typ := range []string{"bool", "integer", "number", "string", "list", "object"} {
				value, err := option.Setting(a.label, a.value, typ)
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
