package data

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/internal/settings"
	"github.com/psbench/psbench/sdk"
)

// TestDummyBitForBit compares with a Python program that follows the comment of
// NewDummy.
func TestDummyBitForBit(t *testing.T) {
	d, err := NewDummy(DummySettings{MaxVal: 10, SampleCount: 3, SampleLength: 5, SparsityPercentage: 55},
		sdk.DataEnv{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Load()
	if err != nil {
		t.Fatal(err)
	}
	want := sdk.Batch{}
	want.Append([]int64{5, 7, 7, 9, 5}, 0)
	want.Append([]int64{6, 7, 7, 6, 7}, 3)
	want.Append([]int64{9, 5, 6, 5, 6}, 2)
	if diff := cmp.Diff(want, got.Batch); diff != "" {
		t.Errorf("samples differ (-want +got):\n%s", diff)
	}
	if origin := got.Origin(1, 2); origin != "dummy data with max_val 10" {
		t.Errorf("origin is %s", origin)
	}
}

func TestDummyKeepsItsShareOfValues(t *testing.T) {
	for sparsity, want := range map[int]int{0: 100, 20: 80, 80: 20, 99: 1} {
		t.Run(fmt.Sprint(sparsity), func(t *testing.T) {
			s := DefaultDummy
			s.SparsityPercentage = sparsity
			d, err := NewDummy(s, sdk.DataEnv{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			samples, err := d.Load()
			if err != nil {
				t.Fatal(err)
			}
			distinct := map[int64]bool{}
			for _, index := range samples.Indices {
				if index < 0 || index > 99 {
					t.Fatalf("index %d lies outside 0 to 99", index)
				}
				distinct[index] = true
			}
			if len(distinct) != want || samples.Size() != 100 || len(samples.Indices) != 100*100 {
				t.Errorf("sparsity %d gives %d distinct values in %d samples of %d indices, want %d values",
					sparsity, len(distinct), samples.Size(), len(samples.Indices), want)
			}
		})
	}
}

func TestDummyErrors(t *testing.T) {
	for want, change := range map[string]func(*DummySettings){
		"setting max_val is 0":                      func(s *DummySettings) { s.MaxVal = 0 },
		"setting sample_count is -1":                func(s *DummySettings) { s.SampleCount = -1 },
		"setting sample_length is 4294967296":       func(s *DummySettings) { s.SampleLength = 1 << 32 },
		"setting sparsity_percentage is 101":        func(s *DummySettings) { s.SparsityPercentage = 101 },
		"setting sparsity_percentage is 100, which": func(s *DummySettings) { s.SparsityPercentage = 100 },
		"makes 10000000000 indices but at most 214748": func(s *DummySettings) {
			s.SampleCount, s.SampleLength = 1e5, 1e5
		},
	} {
		t.Run(want, func(t *testing.T) {
			s := DefaultDummy
			change(&s)
			if _, err := NewDummy(s, sdk.DataEnv{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("settings %+v give %v, want an error with %q", s, err, want)
			}
		})
	}
}

// inlineTargets returns one target for each sample.
func inlineTargets(all ...float64) (out []InlineTarget) {
	for _, v := range all {
		out = append(out, InlineTarget{v})
	}
	return out
}

func TestInline(t *testing.T) {
	d, err := NewInline(InlineSettings{Inputs: [][]int64{{1, 2}, {}}, Targets: inlineTargets(3, 0)}, sdk.DataEnv{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Load()
	if err != nil {
		t.Fatal(err)
	}
	want := sdk.Batch{}
	want.Append([]int64{1, 2}, 3)
	want.Append(nil, 0)
	if diff := cmp.Diff(want, got.Batch); diff != "" {
		t.Errorf("samples differ (-want +got):\n%s", diff)
	}
	if index, target := got.Origin(0, 1), got.Origin(1, -1); index != "setting inputs[0][1]" ||
		target != "setting targets[1]" {
		t.Errorf("origins are %s and %s", index, target)
	}
}

func TestInlineTruth(t *testing.T) {
	var s InlineSettings
	raw := `{"inputs": [[true, 2.0]], "features": [[false, true]], "targets": [true, [false], 3]}`
	want := InlineSettings{Inputs: [][]int64{{1, 2}}, Features: [][]float32{{0, 1}}, Targets: inlineTargets(1, 0, 3)}
	if err := settings.Decode([]byte(raw), &s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
}

func TestInlineFeatures(t *testing.T) {
	for name, c := range map[string]struct {
		settings      InlineSettings
		want          sdk.Batch
		input, target string
	}{
		"features": {
			InlineSettings{Features: [][]float32{{0.5, -1}, {2, 3}}, Targets: inlineTargets(1, 0)},
			sdk.Batch{Features: []float32{0.5, -1, 2, 3}, Targets: []int64{1, 0}},
			"setting features[1][0]", "setting targets[1]",
		},
		"several targets": {
			InlineSettings{Inputs: [][]int64{{}, {4}}, Targets: inlineTargets(1, 0, 3, 2), Batches: []int{1, 1}},
			sdk.Batch{Indices: []int64{4}, Offsets: []int64{0, 0, 1}, Targets: []int64{1, 0, 3, 2}},
			"setting inputs[1][0]", "setting targets[2]",
		},
		"both": {
			InlineSettings{Inputs: [][]int64{{1}, {4}}, Features: [][]float32{{7}, {8}}, Targets: inlineTargets(1, 0)},
			sdk.Batch{Indices: []int64{1, 4}, Offsets: []int64{0, 1, 2}, Features: []float32{7, 8},
				Targets: []int64{1, 0}},
			"setting inputs[1][0]", "setting targets[1]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := NewInline(c.settings, sdk.DataEnv{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := d.Load()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Batch); diff != "" || !cmp.Equal(c.settings.Batches, got.Batches) {
				t.Errorf("%s: batches %v, samples differ (-want +got):\n%s", name, got.Batches, diff)
			}
			if input, target := got.Origin(1, 0), got.Origin(1, -1); input != c.input || target != c.target {
				t.Errorf("%s: origins are %s and %s", name, input, target)
			}
		})
	}
}

func TestInlineErrors(t *testing.T) {
	one := [][]int64{{1}}
	for want, s := range map[string]InlineSettings{
		"hold no samples": DefaultInline,
		"settings inputs and features are empty but targets has length 1": {Targets: inlineTargets(1)},
		"setting inputs has length 1 and targets has length 0 but":        {Inputs: one},
		"setting inputs has length 2 and targets has length 3 but": {Inputs: [][]int64{{1}, {2}},
			Targets: inlineTargets(0, 0, 0)},
		"setting inputs has length 1 and features has length 2 but": {Inputs: one,
			Features: [][]float32{{1}, {2}}, Targets: inlineTargets(0)},
		"setting features has length 1 and targets has length 2 but": {Features: [][]float32{{1}},
			Targets: inlineTargets(0, 0)},
		"setting features[1] has length 2 but all": {Features: [][]float32{{1}, {2, 3}},
			Targets: inlineTargets(0, 0)},
		"setting features[0] has length 0 but all": {Features: [][]float32{{}},
			Targets: inlineTargets(0)},
		"setting inputs[0][1] is -5": {Inputs: [][]int64{{1, -5}},
			Targets: inlineTargets(0)},
		"setting targets[1] is -1 but must be 0 or more": {Inputs: one, Targets: inlineTargets(0, -1)},
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := NewInline(s, sdk.DataEnv{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("settings %+v give %v, want an error with %q", s, err, want)
			}
		})
	}
}

func TestParts(t *testing.T) {
	var keys []string
	for _, p := range Parts() {
		if p.Kind != sdk.KindData {
			t.Errorf("part %s is of kind %s", p.Key, p.Kind)
		}
		keys = append(keys, p.Key)
	}
	if diff := cmp.Diff([]string{"bags", "clicks", "criteo", "dense", "dummy", "file", "idx", "inline"},
		keys); diff != "" {
		t.Error(diff)
	}
}
