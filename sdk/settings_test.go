package sdk

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/internal/settings"
)

type knobs struct {
	Rate   float64  `json:"rate" doc:"how fast"`
	Count  int      `json:"count,omitempty" doc:"how many"`
	On     bool     `json:"on" doc:"whether"`
	Path   string   `json:"path" doc:"where"`
	Names  []string `json:"names" doc:"who"`
	Hidden int      `json:"-"`
	Unsaid int
}

func TestDescribeSettings(t *testing.T) {
	var got []string
	for _, s := range describeSettings(knobs{Rate: 0.5, Count: 3, Path: "x"}) {
		got = append(got, strings.Join([]string{s.Name, s.Type, string(s.Default), s.Doc}, " "))
	}
	want := []string{"rate number 0.5 how fast", "count integer 3 how many", "on bool false whether",
		`path string "x" where`, "names list null who"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

type shared struct {
	Step  float64 `json:"step" doc:"how far"`
	Sizes []int   `json:"sizes" doc:"how large"`
}

type embedding struct {
	shared
	Named shared `json:"named" doc:"an object"`
	Last  bool   `json:"last" doc:"the end"`
}

func TestDescribeEmbeddedSettings(t *testing.T) {
	var got []string
	for _, s := range describeSettings(embedding{shared: shared{Step: 2, Sizes: []int{1}}}) {
		got = append(got, strings.Join([]string{s.Name, s.Type, string(s.Default)}, " "))
	}
	want := []string{"step number 2", "sizes list [1]", `named object {"step":0,"sizes":null}`, "last bool false"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	defaults := embedding{shared: shared{Step: 2, Sizes: []int{1}}}
	decoded := cloneSettings(defaults)
	if err := settings.Decode([]byte(`{"sizes": [7], "last": true}`), &decoded); err != nil {
		t.Fatal(err)
	}
	if defaults.Sizes[0] != 1 || decoded.Sizes[0] != 7 || decoded.Step != 2 || !decoded.Last {
		t.Errorf("from %+v comes %+v", defaults, decoded)
	}
	for raw, want := range map[string]string{
		`{"sizes": [1, null]}`:         "setting sizes holds null at [1] but must hold a value there",
		`{"named": {"sizes": [null]}}`: "setting named holds null at .sizes[0] but must hold a value there",
		`{"step": 1e39}`:               "setting step is 1e39 but must be a number that a float32 can hold",
		`{"step": -1e-400}`:            "setting step is -1e-400 but must be a number that a float32 can hold",
		`{"step": "far"}`:              `setting step is "far" but must be a number`,
		`{"named": {"step": "far"}}`:   `setting named.step is "far" but must be a number`,
		`{"sizes": [7, 1e30]}`:         "setting sizes[1] is 1e30 but must be a whole number that fits in 64 bits",
		`{"named": {"sizes": ["a"]}}`:  `setting named.sizes[0] is "a" but must be a whole number that fits in 64 bits`,
		`{"shared": {}}`:               `unknown field "shared"`,
	} {
		if err := settings.Decode([]byte(raw), &decoded); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
	for _, raw := range []string{`{"step": 0e999, "sizes": null}`, `{"step": 3.4e38}`, `{"step": -1.5e-45}`,
		`{"step": 0.000}`, `{"sizes": [7.0, 1e3], "named": {"sizes": [2.0]}}`} {
		if err := settings.Decode([]byte(raw), &decoded); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestDecodeSettings(t *testing.T) {
	defaults := knobs{Rate: 0.5, Count: 3}
	for raw, want := range map[string]knobs{
		"":                               defaults,
		"{}":                             defaults,
		`{"rate": 2}`:                    {Rate: 2, Count: 3},
		`{"count": 0, "names": ["a"]}`:   {Rate: 0.5, Names: []string{"a"}},
		`{"count": 2e0, "rate": 1e-1}`:   {Rate: 0.1, Count: 2},
		`{"on": true, "path": "\u00e9"}`: {Rate: 0.5, Count: 3, On: true, Path: "é"},
	} {
		got := defaults
		if err := settings.Decode([]byte(raw), &got); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", raw, d)
		}
	}
	for raw, want := range map[string]string{
		`{"rate": "fast"}`:               `setting rate is "fast" but must be a number`,
		`{"count": 1.5}`:                 "setting count is 1.5 but must be a whole number that fits in 64 bits",
		`{"count": 9223372036854775808}`: "setting count is 9223372036854775808 but must be a whole number that fits in 64 bits",
		`{"names": 1}`:                   "setting names is 1 but must be a list",
		`{"on": "yes"}`:                  `setting on is "yes" but must be true or false`,
		`{"speed": 1}`:                   `unknown field "speed"`,
		`[1]`:                            "the settings must be a JSON object, not array",
		`{"rate": `:                      "the settings cannot be read: unexpected EOF",
	} {
		if err := settings.Decode([]byte(raw), &defaults); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
}

// A build must not get the settings of another build.
func TestDefaultsAreNotShared(t *testing.T) {
	type listed struct {
		Sizes []int `json:"sizes"`
	}
	var got [][]int
	part := NewData("listed", listed{Sizes: []int{1, 2}}, func(s listed, _ DataEnv) (Data, error) {
		got = append(got, s.Sizes)
		return nil, nil
	})
	for _, raw := range []string{`{"sizes": [7, 8]}`, `{}`} {
		if _, err := part.Build([]byte(raw), DataEnv{}); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got[0], []int{7, 8}) || !slices.Equal(got[1], []int{1, 2}) {
		t.Errorf("two builds got %v", got)
	}
}
