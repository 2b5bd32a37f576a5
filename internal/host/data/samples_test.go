package data

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/internal/host/batches"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

func TestBatchCheck(t *testing.T) {
	for name, c := range map[string]struct {
		batch sdk.Batch
		want  string
	}{
		"nothing":    {sdk.Batch{}, ""},
		"no samples": {sdk.Batch{Offsets: []int64{0}}, ""},
		"bags": {sdk.Batch{Indices: []int64{7, 8}, Offsets: []int64{0, 0, 2}, Targets: []int64{1, 1}},
			""},
		"two targets each": {sdk.Batch{Indices: []int64{7}, Offsets: []int64{0, 1}, Targets: []int64{1, 2}}, ""},
		"numbers":          {sdk.Batch{Features: []float32{1, 2, 3, 4}, Targets: []int64{0, 0}}, ""},
		"both": {sdk.Batch{Indices: []int64{7}, Offsets: []int64{0, 1}, Features: []float32{1},
			Targets: []int64{1}}, ""},
		"too few targets": {sdk.Batch{Offsets: []int64{0, 0, 0}, Targets: []int64{1}}, "1 targets for 2 samples"},
		"uneven targets": {sdk.Batch{Offsets: []int64{0, 0, 0}, Targets: []int64{1, 2, 3}},
			"3 targets for 2 samples"},
		"targets of nobody": {sdk.Batch{Offsets: []int64{0}, Targets: []int64{1}}, "1 targets for 0 samples"},
		"uneven numbers": {sdk.Batch{Features: []float32{1, 2, 3}, Targets: []int64{0, 0}},
			"3 features for 2 samples"},
		"numbers of nobody": {sdk.Batch{Features: []float32{1}}, "1 features for 0 samples"},
		"indices of nobody": {sdk.Batch{Indices: []int64{7}, Targets: []int64{1}}, "1 indices but no offsets"},
		"a late start": {sdk.Batch{Indices: []int64{7}, Offsets: []int64{1, 1}, Targets: []int64{1}},
			"offset 0 is 1"},
		"a fall": {sdk.Batch{Indices: []int64{7}, Offsets: []int64{0, 1, 0}, Targets: []int64{1, 1}},
			"offset 2 is 0"},
		"too many indices": {sdk.Batch{Indices: []int64{7, 8}, Offsets: []int64{0, 1}, Targets: []int64{1}},
			"the last offset is 1 but there are 2 indices"},
		"indices and no bags": {sdk.Batch{Indices: []int64{7}, Offsets: []int64{0}},
			"the last offset is 0 but there are 1 indices"},
	} {
		t.Run(name, func(t *testing.T) {
			err := batches.Check(&c.batch)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	bags := sdk.InputSpec{Rows: 10, Classes: 3}
	pairs := sdk.InputSpec{Rows: 10, Classes: 3, Targets: 2}
	numbers := sdk.InputSpec{Features: 2, Classes: 3}
	both := sdk.InputSpec{Rows: 10, Features: 1, Classes: 3}
	tables := sdk.InputSpec{Tables: []int{3, 1, 8}, Classes: 3}
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))

	torn := hosttest.Samples([][]int64{{1}}, 0)
	torn.Offsets = []int64{0, 5}
	named := hosttest.Samples([][]int64{{1}, {2, 10}}, 0, 0)
	named.Origin = func(int, int) string { return "a.csv, line 7" }
	namedRows := hosttest.Rows(3, 1, 2, 3)
	namedRows.Origin = func(_, position int) string { return "a.csv, position " + strconv.Itoa(position) }
	paired := &sdk.Samples{}
	paired.Append([]int64{1}, 0, 2)
	paired.Append([]int64{2}, 1, 3)
	mixed := hosttest.Samples([][]int64{{1, 2}}, 0)
	mixed.Features = []float32{nan}
	tabled := hosttest.Samples([][]int64{{0, 0, 0}, {0, 0, 8}}, 0, 0)
	tabled.Origin = func(sample, position int) string {
		return fmt.Sprintf("a.tsv, line %d, column %d", sample, position)
	}
	holding := hosttest.Samples([][]int64{{1}, {2}}, 0, 0)
	holding.HeldOut = hosttest.Samples([][]int64{{1}, {2, 10}}, 0, 0)
	holding.HeldOut.Origin = func(int, int) string { return "test.csv, line 7" }
	tornOut := hosttest.Samples([][]int64{{1}}, 0)
	tornOut.HeldOut = torn
	heldNothing := hosttest.Samples([][]int64{{1}}, 0)
	heldNothing.HeldOut = &sdk.Samples{}

	for i, c := range []struct {
		in   sdk.InputSpec
		s    *sdk.Samples
		want string
	}{
		{bags, hosttest.Samples([][]int64{{0, 9}, {}}, 0, 2), ""},
		{numbers, hosttest.Rows(2, 1, -2, 3, math.MaxFloat32), ""},
		{pairs, hosttest.Samples([][]int64{{1}}, 0),
			"sample 0: the number of targets is 1 but must be 2, one for each row"},
		{bags, nil, "the data holds no samples"},
		{bags, &sdk.Samples{}, "the data holds no samples"},
		{bags, hosttest.Samples([][]int64{{1, 10}}, 0),
			"sample 0, position 1: index 10 is outside the embedding's range of 0 to 9"},
		{bags, hosttest.Samples([][]int64{{1}, {-1}}, 0, 0), "sample 1, position 0: index -1 is outside"},
		{bags, named, "sample 1, position 1 (a.csv, line 7): index 10"},
		{bags, hosttest.Samples([][]int64{{1}}, 3), "sample 0: target 3 is outside the model's classes of 0 to 2"},
		{bags, hosttest.Samples([][]int64{{1}}, -1), "sample 0: target -1 is outside"},
		{bags, torn, "the data is inconsistent: the last offset is 5 but there are 1 indices"},
		{pairs, paired, "sample 1, target 1: target 3 is outside"},
		{bags, paired, "sample 0: the number of targets is 2 but must be 1, one for each row"},
		{bags, hosttest.Rows(1, 1), "sample 0 has no bag of indices but the model takes one"},
		{numbers, hosttest.Samples([][]int64{{1}}, 0), "sample 0: the number of features is 0 but the model takes 2"},
		{numbers, namedRows, "sample 0 (a.csv, position -1): the number of features is 3 but the model takes 2"},
		{numbers, hosttest.Rows(2, 1, 2, 3, inf), "sample 1, position 1: the number -Inf is not finite"},
		{both, mixed, "sample 0, position 2: the number NaN is not finite"},
		{tables, hosttest.Samples([][]int64{{2, 0, 7}, {0, 0, 0}}, 0, 2), ""},
		{tables, hosttest.Samples([][]int64{{2, 0, 7}, {0, 1, 0}}, 0, 0),
			"sample 1, position 1: index 1 is outside table 1's range of 0 to 0"},
		{tables, hosttest.Samples([][]int64{{-1, 0, 7}}, 0),
			"sample 0, position 0: index -1 is outside table 0's range of 0 to 2"},
		{tables, tabled,
			"sample 1, position 2 (a.tsv, line 1, column 2): index 8 is outside table 2's range of 0 to 7"},
		{tables, hosttest.Samples([][]int64{{2, 0, 7}, {0, 0}}, 0, 0),
			"sample 1: the bag has 2 indices but must have 3, one for each of the model's tables"},
		{tables, hosttest.Samples([][]int64{{2, 0, 7, 0}}, 0), "sample 0: the bag has 4 indices but must have 3"},
		{tables, hosttest.Rows(1, 1), "sample 0 has no bag of indices but the model takes one"},
		{bags, heldNothing, ""},
		{bags, holding, "held-out sample 1, position 1 (test.csv, line 7): index 10 is outside"},
		{bags, tornOut, "the held-out data is inconsistent: the last offset is 5"},
		{sdk.InputSpec{Classes: 3}, hosttest.Samples([][]int64{{}, {4}}, 0, 0),
			"sample 1, position 0: there is index 4 but the model takes no indices"},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			err := validate(c.s, c.in, batches.Wanted{})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestCut(t *testing.T) {
	s := hosttest.Samples([][]int64{{1, 2}, {}, {3}, {4}, {5, 5}}, 0, 1, 2, 3, 4)
	got, err := batches.Cut(s, 2)
	hosttest.Must(t, err)
	want := []sdk.Batch{
		{Indices: []int64{1, 2}, Offsets: []int64{0, 2, 2}, Targets: []int64{0, 1}},
		{Indices: []int64{3, 4}, Offsets: []int64{0, 1, 2}, Targets: []int64{2, 3}},
		{Indices: []int64{5, 5}, Offsets: []int64{0, 2}, Targets: []int64{4}},
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	if n := batches.Distinct(&got[2], nil); n != 1 {
		t.Errorf("a bag of 5, 5 has %d distinct indices", n)
	}
}

func TestDistinct(t *testing.T) {
	b := hosttest.Samples([][]int64{{1, 1, 1}, {1, 0, 3}, {0, 1, 1}}, 0, 0, 0)
	for want, tables := range map[int][]int{3: nil, 6: {2, 2, 4}} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			if got := batches.Distinct(&b.Batch, tables); got != want {
				t.Errorf("with tables of %v there are %d distinct rows, want %d", tables, got, want)
			}
		})
	}
}

func TestCutRefuses(t *testing.T) {
	for want, sizes := range map[string][]int{
		"batch 1 of the data has 0 samples; it must have at least one, and at most the remaining 1 of 3": {2, 0, 1},
		"batch 0 of the data has -1 samples":        {-1, 4},
		"batch 1 of the data has 2 samples":         {2, 2},
		"the data's 2 batches have 2 samples; they": {1, 1},
		"the data's 0 batches have 0 samples":       {},
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			s := hosttest.Rows(1, 1, 2, 3)
			s.Batches = sizes
			if _, err := batches.Cut(s, 2); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v, want %q", sizes, err, want)
			}
		})
	}
}

// Cut batches are consistent, have the expected sizes, and together contain exactly the samples.
func TestCutLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := hosttest.AnySamples(t)
		size := rapid.IntRange(1, 6).Draw(t, "batch size")
		parts, err := batches.Cut(s, size)
		hosttest.Must(t, err)
		joined := sdk.Batch{}
		for i := range parts {
			b := &parts[i]
			hosttest.Must(t, batches.Check(b))
			due := min(size, s.Size()-joined.Size())
			if s.Batches != nil {
				due = s.Batches[i]
			}
			if b.Size() != due {
				t.Fatalf("batch %d has %d samples where %d are due", i, b.Size(), due)
			}
			if len(b.Offsets) > 0 {
				for k := range b.Size() {
					joined.Append(b.Bag(k))
				}
			}
			joined.Features = append(joined.Features, b.Features...)
			joined.Targets = append(joined.Targets, b.Targets...)
			joined.FloatTargets, joined.TargetWidth = append(joined.FloatTargets, b.FloatTargets...), b.TargetWidth
		}
		if d := cmp.Diff(s.Batch, joined, cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
	})
}

// cutting is data that cuts its own batches, the smaller one first.
type cutting struct{}

func (cutting) Load() (*sdk.Samples, error) {
	s := hosttest.Samples([][]int64{{1, 2}, {3}, {4}, {5}}, 0, 0, 0, 0)
	s.Batches = []int{1, 3}
	return s, nil
}

func TestDataRoleDeals(t *testing.T) {
	var env sdk.DataEnv
	parts := []sdk.Part{sdk.NewData("cutting", struct{}{}, func(_ struct{}, e sdk.DataEnv) (sdk.Data, error) {
		env = e
		return cutting{}, nil
	})}
	p := hosttest.Process(t, hosttest.Folder(t), parts,
		process.Config{Name: "data", Part: hosttest.Choice("data", "cutting")})
	role, err := New(p, sdk.DataEnv{Seed: 9, Trainers: 2, BatchSize: 7})
	hosttest.Must(t, err)
	if env != (sdk.DataEnv{Seed: 9, Trainers: 2, BatchSize: 7, Recorder: p.Recorder, Timeout: p.Timeout}) {
		t.Errorf("the data knows %+v", env)
	}
	reply, err := role.Partition(Request{
		Inputs: sdk.InputSpec{Rows: 10, Classes: 1}, BatchSize: 7, Sets: [][]int{{0}, {1}},
	})
	hosttest.Must(t, err)
	want := []batches.Share{
		{Batches: 1, Samples: 1, DistinctRows: 2, BatchSamples: 1, BatchIndices: 2},
		{Batches: 1, Samples: 3, DistinctRows: 3, BatchSamples: 3, BatchIndices: 3},
	}
	for i, share := range reply.Shares {
		if share != want[i] {
			t.Errorf("share %d is %+v, want %+v", i, share, want[i])
		}
	}
	role.samples.Batches = []int{5}
	if _, err := role.Partition(Request{Inputs: sdk.InputSpec{Rows: 10, Classes: 1}, BatchSize: 7}); err == nil {
		t.Error("batches of more samples than there are were partitioned")
	}
}

// floatRows returns samples with numeric features and numeric targets.
func floatRows(width int, targets ...float32) *sdk.Samples {
	n := len(targets) / width
	return &sdk.Samples{Batch: sdk.Batch{Features: make([]float32, 2*n), FloatTargets: targets, TargetWidth: width}}
}

// Targets that could be classes or numbers become the kind that the criterion takes. A kind that
// the criterion cannot take is refused.
func TestTargetsAreWhatTheCriterionTakes(t *testing.T) {
	classRows := func(targets ...int64) *sdk.Samples {
		return &sdk.Samples{Batch: sdk.Batch{Features: make([]float32, 2*len(targets)), Targets: targets}}
	}
	paired := hosttest.Samples([][]int64{{1}, {2}}, 0, 1)
	paired.Targets = []int64{0, 1, 0, 0} // two targets per sample
	held := floatRows(1, 0, 1)
	held.HeldOut = floatRows(1, 0.5)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	one, three, two := sdk.InputSpec{Features: 2, Classes: 2, Outputs: 1}, sdk.InputSpec{Features: 2, Classes: 3,
		Outputs: 3}, sdk.InputSpec{Features: 2, Classes: 2}
	const classes, numbers, shares, probabilities = sdk.ClassTargets, sdk.NumberTargets, sdk.ShareTargets,
		sdk.ProbabilityTargets
	for name, c := range map[string]struct {
		s     *sdk.Samples
		in    sdk.InputSpec
		kind  sdk.TargetKind
		width int
		want  string
	}{
		"regression":                   {floatRows(1, 0.5, -20.3), one, numbers, 1, ""},
		"whole numbers":                {floatRows(1, 5, 3), one, numbers, 1, ""},
		"ratings as integers":          {classRows(5, 3), one, numbers, 1, ""},
		"negative integers":            {classRows(1, -3), one, numbers, 1, ""},
		"numbers that are classes":     {floatRows(1, 0, 1), one, numbers, 0, ""},
		"classes for mse":              {classRows(0, 2), three, numbers, 0, ""},
		"what is held out decides too": {held, one, numbers, 1, ""},
		"several":                      {floatRows(3, 1, 2, 3, 4, 5, 6), three, numbers, 3, ""},
		"several, by a criterion":      {floatRows(3, 1, 2, 3, 4, 5, 6), two, numbers, 3, ""},
		"soft labels":                  {floatRows(1, 0, 0.25), one, shares, 1, ""},
		"probabilities":                {floatRows(3, 0.5, 0.25, 0.25, 0, 0, 1), three, probabilities, 3, ""},
		"one-hot rows of integers":     {&sdk.Samples{Batch: sdk.Batch{Features: make([]float32, 4), Offsets: []int64{0, 0, 0}, Targets: []int64{0, 0, 1, 1, 0, 0}}}, three, probabilities, 3, ""},
		"classes as floats":            {floatRows(1, 0, 2), three, classes, 0, ""},
		"classes as floats for cel":    {floatRows(1, 0, 2), three, probabilities, 0, ""},
		"no class": {floatRows(1, 0, 20.3), three, classes, 0,
			"sample 1 (t.csv): the target is 20.3 but criterion crit takes classes, which are integers from 0; for targets that are numbers use"},
		"no probability": {floatRows(1, 20.3), three, probabilities, 0,
			"sample 0 (t.csv): the target is 20.3 but criterion crit takes classes, which are integers from 0, or a probability of each class; for"},
		"a class too large": {floatRows(1, 0, 3), three, classes, 0,
			"sample 1 (t.csv): target 3 is outside the model's classes of 0 to 2"},
		"too few outputs": {floatRows(2, 1, 2.5), three, numbers, 0,
			"sample 0 (t.csv): the number of targets is 2 but the model has 3 outputs for each sample, and criterion crit takes numbers, one for each output"},
		"one number of several": {floatRows(1, 0.5), three, numbers, 0,
			"the number of targets is 1 but the model has 3 outputs"},
		"NaN": {floatRows(1, 0.5, nan), one, numbers, 0,
			"sample 1 (t.csv): target NaN is not finite"},
		"infinity": {floatRows(3, 0.5, 1, -inf), three, numbers, 0,
			"sample 0, target 2 (t.csv): target -Inf is not finite"},
		"no share": {floatRows(1, 0.5, 1.5), one, shares,
			0, "sample 1 (t.csv): target 1.5 is not from 0 to 1"},
		"a negative probability": {floatRows(3, 1.5, -0.5, 0), three, probabilities, 0,
			"sample 0, target 1 (t.csv): target -0.5 is not from 0 to 1"},
		"no sum": {floatRows(3, 0, 0, 1, 0.5, 0.25, 0.125), three, probabilities, 0,
			"sample 1 (t.csv): the targets add up to 0.875, but probabilities of the classes must add up to 1"},
		"a width that does not divide": {&sdk.Samples{
			Batch: sdk.Batch{Features: make([]float32, 2), FloatTargets: []float32{0.5, 1, 2}, TargetWidth: 3},
		}, sdk.InputSpec{Features: 2, Classes: 2, Targets: 2}, numbers, 0, "must be a multiple of 2"},
		"both": {&sdk.Samples{
			Batch: sdk.Batch{Features: make([]float32, 2), Targets: []int64{1}, FloatTargets: []float32{0.5},
				TargetWidth: 1},
		}, one, numbers, 0, "1 classes and 1 numbers as targets for 1 samples"},
		"no width": {
			&sdk.Samples{
				Batch: sdk.Batch{Features: make([]float32, 2), Targets: []int64{1}, FloatTargets: []float32{0.5}},
			},
			one, numbers, 0, "no TargetWidth",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.s.Origin = func(int, int) string { return "t.csv" }
			switch err := validate(c.s, c.in, batches.Wanted{Criterion: "crit", Targets: c.kind}); {
			case c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s: %v, want %q", name, err, c.want)
			case c.want == "" &&
				(c.s.TargetWidth != c.width || c.s.HeldOut != nil && c.s.HeldOut.TargetWidth != c.width):
				t.Errorf("%s: targets have width %d, want %d", name, c.s.TargetWidth, c.width)
			}
		})
	}
}
