package judge

import (
	_ "embed"
	"encoding/csv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The figures of docs/statistics.md come from the tests of this file:
//
//	go test ./core/judge -run 'TestAlarms|TestPlanted|TestRelabeled' -v
//
// The studies are of 20 cells with 10 runs each, and all is drawn from a seed. With -short there are
// fewer studies, and the figures may be so much further off.
const (
	cells = 20
	runs  = 10
	// alarms is the share of studies of nothing that may have an alarm: 5 %, and two standard
	// deviations of that share in 5,000 studies.
	alarms = 0.056
)

// noises are how runs of the same differ, in parts of the median.
var noises = []struct {
	name string
	draw func(*rand.Rand) float64
}{
	{"normal noise of 1 %", func(r *rand.Rand) float64 { return 1 + 0.01*r.NormFloat64() }},
	{"a tenth of runs slowed by exp(10 %)", slowed},
	{"normal noise of 1 % in values of two digits", func(r *rand.Rand) float64 { return math.Round(100*(1+0.01*r.NormFloat64())) / 100 }},
}

// slowed is the throughput of a run with normal noise of 1 %; that of every tenth is less, by an
// exponential share with a mean of 10 %.
func slowed(r *rand.Rand) float64 {
	value := 1 + 0.01*r.NormFloat64()
	if r.Float64() < 0.1 {
		value /= 1 + 0.1*r.ExpFloat64()
	}
	return value
}

// designs are how studies are judged. Each makes the runs of a study, of which those of the last cell are
// planted times faster, and returns the changes, that cell's last.
var designs = []struct {
	name  string
	judge func(draw func(n int) []float64, planted float64) []Change
}{
	{"20 cells against the baseline and its A/A cell", func(draw func(int) []float64, planted float64) []Change {
		baseline := draw(2 * runs)
		arms := make([][]float64, cells)
		for i := range arms {
			arms[i] = draw(runs)
		}
		scale(arms[cells-1], planted)
		return judged(Against(baseline, arms), baseline)
	}},
	{"20 cells old against new", func(draw func(int) []float64, planted float64) []Change {
		pairs := make([]Pair, cells)
		for i := range pairs {
			pairs[i] = Pair{draw(runs), draw(runs)}
		}
		scale(pairs[cells-1].New, planted)
		return judged(pairs, slices.Concat(pairs[0].Old, pairs[1].Old))
	}},
}

func scale(values []float64, by float64) {
	for i := range values {
		values[i] *= by
	}
}

// judged compares pairs above the floor of the A runs. What is not proven without a floor is not with
// one, so that most studies need none, which takes longer than all the rest.
func judged(pairs []Pair, a []float64) []Change {
	changes := Compare(pairs, true, Floor{})
	if !anyProven(changes) {
		return changes
	}
	floor, err := FloorOf(a, 1)
	if err != nil {
		panic(err)
	}
	return Compare(pairs, true, floor)
}

// Studies of nothing have an alarm, in any of their cells, no more often than they may.
func TestAlarms(t *testing.T) {
	for d, design := range designs {
		for n, noise := range noises {
			random := rand.New(rand.NewPCG(uint64(10*d+n), 17))
			studies, limit := counts(5000, 100, alarms)
			share := shareOf(studies, func() bool { return anyProven(design.judge(drawer(random, noise.draw), 1)) })
			t.Logf("%s, %s: an alarm in %.2f %% of %d studies", design.name, noise.name, 100*share, studies)
			if share > limit {
				t.Errorf("that is more than %.2f %%", 100*limit)
			}
		}
	}
}

// A change in one cell of twenty is found as often as is promised.
func TestPlanted(t *testing.T) {
	for d, design := range designs {
		for n, c := range []struct {
			change float64
			noise  int
			found  float64
		}{{-0.05, 0, 0.99}, {-0.02, 0, 0.70}, {-0.05, 1, 0.80}} {
			noise := noises[c.noise]
			random := rand.New(rand.NewPCG(uint64(10*d+n), 18))
			studies, limit := counts(500, 50, 1-c.found)
			share := shareOf(studies, func() bool {
				return design.judge(drawer(random, noise.draw), 1+c.change)[cells-1].Verdict == Worse
			})
			t.Logf("%s, %s: %+.0f %% found in %.1f %% of %d studies", design.name, noise.name, 100*c.change, 100*share, studies)
			if share < 1-limit {
				t.Errorf("that is less than %.1f %%", 100*(1-limit))
			}
		}
	}
}

// testdata/runs.csv is the throughput of 400 runs of the same; testdata/record says how it was recorded.
//
//go:embed testdata/runs.csv
var recorded string

// Of 400 recorded runs, which are called those of 20 cells old and new at random, there is an alarm in at
// most 10 of 100 studies.
func TestRelabeledRuns(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(recorded)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var values []float64
	for _, row := range rows[1:] {
		v, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	if len(values) != 2*cells*runs {
		t.Fatalf("there are %d runs", len(values))
	}
	for d, design := range designs {
		random := rand.New(rand.NewPCG(uint64(d), 19))
		found, uncorrected := 0, 0
		for range 100 {
			left := slices.Clone(values)
			random.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
			take := func(n int) (taken []float64) {
				taken, left = left[:n:n], left[n:]
				return taken
			}
			changes := design.judge(take, 1)
			if anyProven(changes) {
				found++
			}
			if slices.ContainsFunc(changes, func(c Change) bool { return c.P < Alpha }) {
				uncorrected++
			}
		}
		t.Logf("%s: an alarm in %d of 100 relabelings of %d recorded runs; p alone has one in %d", design.name, found, len(values), uncorrected)
		if found > 10 || uncorrected < 40 {
			t.Error("more than 10 are too many, and so many tests would have one in most without a correction")
		}
	}
}

// counts is how many studies there are, and the share that may be off: with -short of fewer studies, and
// two standard deviations more.
func counts(full, short int, share float64) (studies int, limit float64) {
	if !testing.Short() {
		return full, share
	}
	return short, share + 2*math.Sqrt(share*(1-share)/float64(short))
}

func drawer(random *rand.Rand, draw func(*rand.Rand) float64) func(int) []float64 {
	return func(n int) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = draw(random)
		}
		return values
	}
}

func anyProven(changes []Change) bool { return slices.ContainsFunc(changes, Change.Proven) }
