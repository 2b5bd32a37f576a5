package data

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/sdk"
)

// TestBagsBitForBit compares with a Python program that follows the comment of NewBags.
func TestBagsBitForBit(t *testing.T) {
	d, err := NewBags(BagsSettings{Batches: 2, NumEmbeddings: 50, Classes: 4, TargetsPerBag: 2, MinIndices: 3,
		MaxIndices: 6, MaxBag: 3}, sdk.DataEnv{Seed: 7, Trainers: 2})
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Load()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(bagsOfPython, got.Batch); d != "" {
		t.Errorf("samples differ (-want +got):\n%s", d)
	}
	if d := cmp.Diff(batchesOfPython, got.Batches); d != "" {
		t.Errorf("batches differ (-want +got):\n%s", d)
	}
	if origin := got.Origin(1, 2); origin != "bags data with num_embeddings 50, classes 4 and targets_per_bag 2" {
		t.Errorf("origin is %s", origin)
	}
}

func TestBagsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, most int) int { return rapid.IntRange(1, most).Draw(t, name) }
		s := BagsSettings{
			Batches: draw("batches", 4), NumEmbeddings: draw("rows", 9), Classes: draw("classes", 5),
			TargetsPerBag: draw("targets", 3),
			MinIndices:    draw("least", 9), MaxBag: draw("bag", 12),
		}
		s.MaxIndices = s.MinIndices + rapid.IntRange(0, 5).Draw(t, "more")
		env := sdk.DataEnv{Seed: rapid.Uint64().Draw(t, "seed"), Trainers: draw("trainers", 4)}
		d, err := NewBags(s, env)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Load()
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Batches) != s.Batches*env.Trainers || len(got.Targets) != got.Size()*s.TargetsPerBag {
			t.Fatalf("there are %d batches of %d bags with %d targets", len(got.Batches), got.Size(), len(got.Targets))
		}
		bag := 0
		for i, bags := range got.Batches {
			indices := 0
			for range bags {
				n := len(got.Bag(bag))
				if n < 1 || n > s.MaxBag {
					t.Fatalf("bag %d has %d indices", bag, n)
				}
				indices, bag = indices+n, bag+1
			}
			if indices < s.MinIndices || indices > s.MaxIndices {
				t.Fatalf("batch %d has %d indices", i, indices)
			}
		}
		if bag != got.Size() || slices.Max(got.Indices) >= int64(s.NumEmbeddings) ||
			slices.Max(got.Targets) >= int64(s.Classes) {
			t.Fatalf("%d of %d bags are in batches; indices are %v, targets %v", bag, got.Size(), got.Indices,
				got.Targets)
		}
	})
}

func TestBagsErrors(t *testing.T) {
	for want, change := range map[string]func(*BagsSettings){
		"setting batches is 0 but must be from 1 to 2147483647": func(s *BagsSettings) {
			s.Batches = 0
		},
		"setting max_bag is -1": func(s *BagsSettings) {
			s.MaxBag = -1
		},
		"setting min_indices is 60 but must be at most max_indices, which is 50": func(s *BagsSettings) {
			s.MinIndices = 60
		},
		"200000000 batches of up to 50 indices with targets_per_bag 1 are": func(s *BagsSettings) {
			s.Batches = 1e8
		},
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			s := DefaultBags
			change(&s)
			if _, err := NewBags(s, sdk.DataEnv{Trainers: 2}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v gives %v, want %q", s, err, want)
			}
		})
	}
}

func loadDense(t *testing.T, s DenseSettings, env sdk.DataEnv) *sdk.Samples {
	t.Helper()
	d, err := NewDense(s, env)
	if err != nil {
		t.Fatal(err)
	}
	samples, err := d.Load()
	if err != nil {
		t.Fatal(err)
	}
	return samples
}

// The expected first numbers come from a Python program that follows the comment of NewDense.
func TestDense(t *testing.T) {
	env := sdk.DataEnv{Seed: 7, Trainers: 3, BatchSize: 20}
	for distribution, want := range map[string]struct {
		head           []float64
		mean, variance float64
	}{
		"normal":  {normalOfPython, 0, 1},
		"uniform": {uniformOfPython, 0, 1. / 3},
	} {
		t.Run(distribution, func(t *testing.T) {
			s := DefaultDense
			s.Distribution = distribution
			samples := loadDense(t, s, env)
			if samples.Size() != 4*3*20 || len(samples.Features) != 4*3*20*100 || slices.Max(samples.Targets) != 0 ||
				samples.Batches != nil {
				t.Fatalf("%s: there are %d samples of %d numbers, batches %v", distribution, samples.Size(),
					len(samples.Features), samples.Batches)
			}
			var sum, squares float64
			for i, v := range samples.Features {
				sum, squares = sum+float64(v), squares+float64(v)*float64(v)
				if i < len(want.head) && math.Abs(float64(v)-want.head[i]) > 1e-7 {
					t.Errorf("%s: number %d is %v, want %v", distribution, i, v, want.head[i])
				}
			}
			n := float64(len(samples.Features)) // the mean's standard deviation is 1/sqrt(n), 0.0065
			if mean, variance := sum/n, squares/n; math.Abs(mean-want.mean) > 0.03 ||
				math.Abs(variance-want.variance) > 0.03 {
				t.Errorf("%s: the mean is %v and the variance %v", distribution, mean, variance)
			}
		})
	}
	if odd := loadDense(t, DenseSettings{Batches: 1, Features: 3, Distribution: "normal"},
		sdk.DataEnv{}); len(odd.Features) != 3 || odd.Origin(0, 0) != "dense data with features 3" {
		t.Errorf("one sample of 3 numbers is %v", odd.Features)
	}
}

func TestDenseErrors(t *testing.T) {
	for want, change := range map[string]func(*DenseSettings){
		"setting features is 0": func(s *DenseSettings) { s.Features = 0 },
		`setting distribution is "even" but must be normal or uniform`: func(s *DenseSettings) {
			s.Distribution = "even"
		},
		"30000000 samples of 100 features are too many": func(s *DenseSettings) { s.Batches = 1e6 },
	} {
		t.Run(want, func(t *testing.T) {
			s := DefaultDense
			change(&s)
			if _, err := NewDense(s, sdk.DataEnv{Trainers: 3, BatchSize: 10}); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%+v gives %v, want %q", s, err, want)
			}
		})
	}
}

// The Python programs printed these expected values.
var (
	bagsOfPython = sdk.Batch{Indices: []int64{45, 21, 22, 28, 37, 35, 43, 20, 14, 21, 46, 43, 19, 1, 20, 27, 47},
		Offsets: []int64{0, 3, 5, 6, 7, 8, 10, 11, 13, 14, 17},
		Targets: []int64{0, 1, 0, 1, 3, 1, 3, 3, 1, 3, 0, 1, 3, 0, 0, 2, 1, 2, 3, 1}}
	batchesOfPython = []int{2, 3, 3, 2}
	normalOfPython  = []float64{0.9271206745390856, 1.3023425110436495, 0.7829110526290551, 0.2214800637098059}
	uniformOfPython = []float64{-0.4427143335342407, -0.6969254016876221, 0.43640804290771484}
)

// If the settings name no target count, a bag gets one target for each output row that the model computes for the
// bag.
func TestBagsFitTheModel(t *testing.T) {
	for _, c := range []struct{ setting, model, want int }{{0, 3, 3}, {0, 0, 1}, {2, 3, 2}} {
		t.Run(fmt.Sprint(c.setting), func(t *testing.T) {
			s := DefaultBags
			s.TargetsPerBag = c.setting
			d, err := NewBags(s, sdk.DataEnv{Trainers: 1})
			if err != nil {
				t.Fatal(err)
			}
			d.(sdk.FittedData).Fit(sdk.InputSpec{Targets: c.model})
			samples, err := d.Load()
			if err != nil {
				t.Fatal(err)
			}
			if got := len(samples.Targets) / samples.Size(); got != c.want || len(samples.Targets)%samples.Size() != 0 {
				t.Errorf("targets_per_bag %d for a model of %d gives %d targets for %d bags", c.setting, c.model,
					len(samples.Targets), samples.Size())
			}
		})
	}
}
