package data

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/sdk"
)

func TestClicks(t *testing.T) {
	d, err := NewClicks(ClicksSettings{Batches: 2}, sdk.DataEnv{Seed: 7, Trainers: 3, BatchSize: 5})
	if err != nil {
		t.Fatal(err)
	}
	tables := []int{1, 4, 9}
	d.(sdk.FittedData).Fit(sdk.InputSpec{Features: 2, Tables: tables, Classes: 2})
	got, err := d.Load()
	if err != nil {
		t.Fatal(err)
	}
	want := sdk.Batch{Features: make([]float32, 60)}
	splitmix.Uniform(7, 1<<32+7, want.Features, 1)
	index, target := splitmix.New(7, 1<<32+8), splitmix.New(7, 1<<32+9)
	for range 30 {
		var bag []int64
		for _, rows := range tables {
			bag = append(bag, int64(index.IntN(rows)))
		}
		want.Append(bag, int64(target.IntN(2)))
	}
	if d := cmp.Diff(want, got.Batch); d != "" {
		t.Error(d)
	}
	if origin := got.Origin(0, 0); origin != "clicks data" {
		t.Errorf("origin is %s", origin)
	}
}

func TestClicksErrors(t *testing.T) {
	for want, s := range map[string]ClicksSettings{
		"setting batches is 0 but must be from 1": {},
		"30000000000 samples are too many":        {Batches: 2_000_000_000},
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := NewClicks(s, sdk.DataEnv{Trainers: 3, BatchSize: 5}); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%+v gives %v, want %q", s, err, want)
			}
		})
	}
	for want, in := range map[string]sdk.InputSpec{
		"but the model has none: choose a model as dlrm": {Features: 2, Classes: 2},
		"10 samples of 2000000000 numbers and 1 indices are too many: at most": {Features: 2_000_000_000,
			Tables: []int{1}},
	} {
		t.Run(want, func(t *testing.T) {
			d, err := NewClicks(ClicksSettings{Batches: 2}, sdk.DataEnv{BatchSize: 5})
			if err != nil {
				t.Fatal(err)
			}
			d.(sdk.FittedData).Fit(in)
			if _, err := d.Load(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v gives %v, want %q", in, err, want)
			}
		})
	}
}
