package result

import (
	"bytes"
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/internal/metric"
	"github.com/psbench/psbench/sdk"
)

// observed returns the observations of all gauges, by name.
func observed(r *Result) map[string][]any {
	out := map[string][]any{}
	for _, g := range r.Gauges {
		for key, x := range g.All() {
			out[g.Name] = append(out[g.Name], key, x)
		}
	}
	return out
}

// All recorded numbers are read back from a file unchanged. Only values that are not finite become NaN.
func TestNumbersRoundTrip(t *testing.T) {
	small := rapid.Int64Range(-1<<60, 1<<60)
	unit := rapid.SampledFrom([]string{"1", "B", "steps", "%"})
	rapid.Check(t, func(t *rapid.T) {
		want := example()
		want.Counters, want.Gauges, want.Histograms = nil, nil, nil
		for range rapid.IntRange(0, 3).Draw(t, "counters") {
			want.Count(0, metric.Head{Type: "a", Name: rapid.String().Draw(t, "name"), Unit: unit.Draw(t, "unit")},
				rapid.Int64Range(0, 1<<50).Draw(t, "value"))
		}
		for range rapid.IntRange(0, 3).Draw(t, "gauges") {
			g := want.GaugeOf(0, metric.Head{Type: "a", Name: rapid.StringMatching("[a-z]{1,8}").Draw(t, "name"),
				Unit: unit.Draw(t, "unit")})
			for range rapid.IntRange(0, 4).Draw(t, "observations") {
				g.Add(sdk.Key{A: small.Draw(t, "a"), B: small.Draw(t, "b")}, rapid.Float64().Draw(t, "x"))
			}
		}
		for range rapid.IntRange(0, 3).Draw(t, "histograms") {
			h := metric.NewHistogram([]float64{-1e-300, 0, math.MaxFloat64}[:rapid.IntRange(1, 3).Draw(t, "bounds")])
			for i := range h.Counts {
				h.Counts[i] = rapid.Int64Range(0, 1<<40).Draw(t, "count")
			}
			want.Distribute(0, metric.Head{Type: "a", Name: rapid.StringMatching("[a-z]{1,8}").Draw(t, "name"),
				Unit: unit.Draw(t, "unit")}, h)
		}
		var text bytes.Buffer
		if err := WriteTo(&text, want, still); err != nil {
			t.Fatal(err)
		}
		got, err := parse(text.Bytes())
		if err != nil {
			t.Fatalf("%v of\n%s", err, text.String())
		}
		same := cmp.Options{cmpopts.IgnoreFields(Result{}, "Gauges"), cmpopts.EquateEmpty()}
		if diff := cmp.Diff(want, got, same) + cmp.Diff(observed(want), observed(got), cmpopts.EquateNaNs(),
			cmpopts.EquateEmpty()); diff != "" || len(got.Gauges) != len(want.Gauges) {
			t.Fatal(diff)
		}
	})
}

// In a file, values that are not finite are null.
func TestGaugesThatAreNotFinite(t *testing.T) {
	r := example()
	for i, x := range []float64{math.NaN(), 1.5, math.Inf(1), math.Inf(-1), -0.25} {
		r.Gauges[0].Add(sdk.Key{A: int64(i)}, x)
	}
	text, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(text), `"value":[2.5,null,1.5,null,null,-0.25]`) {
		t.Fatalf("%v\n%s", err, text)
	}
	var numbers int
	got, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range got.Gauges[0].All() {
		if !math.IsNaN(x) {
			numbers++
		}
	}
	if numbers != 3 || got.Gauges[0].Len() != 6 {
		t.Errorf("%d numbers of %d observations are left", numbers, got.Gauges[0].Len())
	}
}

// A run without such numbers has a file that older versions of psbench can read.
func TestFilesWithoutNumbers(t *testing.T) {
	r := example()
	r.Counters, r.Gauges, r.Histograms = nil, nil, nil
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"counters", "gauges", "histograms"} {
		t.Run(field, func(t *testing.T) {
			if strings.Contains(string(text), field) {
				t.Errorf("there are %s in %s", field, text)
			}
		})
	}
}

// If several processes of a rank record the same counter, gauge or histogram, their values are combined.
func TestProcessesOfARankAddUp(t *testing.T) {
	r := &Result{}
	h := metric.Head{Type: "a", Name: "b", Unit: "B"}
	other := metric.Head{Type: "a", Name: "b", Unit: "rows"}
	r.Count(1, h, 3)
	r.Count(1, h, 4)
	r.Count(2, h, 5)
	r.Count(1, other, 6)
	if d := cmp.Diff([]Counter{{1, h, 7}, {2, h, 5}, {1, other, 6}}, r.Counters); d != "" {
		t.Error(d)
	}
	g := r.GaugeOf(1, h)
	if r.GaugeOf(1, h) != g || r.GaugeOf(2, h) == g || r.GaugeOf(1, other) == g {
		t.Error("gauges are not told apart by rank and head")
	}
	of := func(bounds []float64, counts ...int64) metric.Histogram {
		return metric.Histogram{Bounds: bounds, Counts: counts, NaN: 1}
	}
	mine := of([]float64{1}, 2, 3)
	r.Distribute(1, h, mine)
	r.Distribute(1, h, of([]float64{1}, 20, 30))
	r.Distribute(1, h, of([]float64{2}, 1, 1))
	want := []Histogram{{1, h, metric.Histogram{Bounds: []float64{1}, Counts: []int64{22, 33}, NaN: 2}},
		{1, h, of([]float64{2}, 1, 1)}}
	if d := cmp.Diff(want, r.Histograms); d != "" || mine.Counts[0] != 2 {
		t.Error(d)
	}
}

// However large the counts of a rank's processes are, the file can be read.
func TestProcessesThatCountTooMuch(t *testing.T) {
	r := example()
	counter, histogram := r.Counters[0].Head, r.Histograms[0].Head
	bounds, counts := r.Histograms[0].Bounds, r.Histograms[0].Counts
	for range 3 {
		r.Count(0, counter, metric.MostCount)
		r.Distribute(0, histogram, metric.Histogram{Bounds: bounds, Counts: []int64{metric.MostCount, 0, 0}})
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	want := append(example().Warnings,
		"counter push_metric, sent of rank 0: its processes counted more than 2^53, so the result says 2^53",
		"histogram push_metric, rows of rank 0: its processes counted more than 2^53 values, so some are left out")
	if d := cmp.Diff(want, got.Warnings) + cmp.Diff(counts, got.Histograms[0].Counts); d != "" ||
		got.Counters[0].Value != metric.MostCount {
		t.Errorf("%d is counted: %s", got.Counters[0].Value, d)
	}
}

func TestNumbersThatAreRefused(t *testing.T) {
	text, err := json.Marshal(example())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, changed, want string }{
		{`"value":12345}`, `"value":-1}`, `counter 0 (rank 0, push_metric, sent): value -1 must be from 0 to 2^53`},
		{`"value":12345}`, `"value":9007199254740993}`, `value 9007199254740993 must be from 0 to 2^53`},
		{`"value":12345}`, `"value":1.5}`, `must be a whole number that fits in 64 bits, not 1.5`},
		{`"unit":"B"`, `"unit":"two words"`,
			`counter 0 (rank 0, push_metric, sent): unit "two words" must be a short word`},
		{`"unit":"B"`, `"unit":"B","Unit":"B"`, `unknown key "Unit" of counters`},
		{`{"rank":0,"type":"push_metric","name":"sent"`, `{"rank":9,"type":"push_metric","name":"sent"`,
			`counter 0 (rank 9, push_metric, sent): no trainer, server or data of "processes" has that rank`},
		{`"counters":[`, `"counters":[{"rank":0,"type":"push_metric","name":"sent","unit":"B","value":3},`,
			`counter 1 (rank 0, push_metric, sent): another one has the same rank, type, name and unit`},
		{`"value":[2.5]`, `"value":["x"]`,
			`gauge 0: value has "x" but must have numbers that a float64 can hold, or null`},
		{`"value":[2.5]`, `"value":[1e999]`, `value has 1e999 but must have numbers that a float64 can hold, or null`},
		{`"value":[2.5]`, `"value":[true]`, `value has true but must have`},
		{`"value":[2.5]`, `"value":null`, `value is null, but must be a list of numbers`},
		{`"value":[2.5]`, `"value":[2.5,1]`, `gauge 0: its columns have unequal lengths: 1 key_a, 1 key_b, 2 value`},
		{`"key_a":[4],"key_b":[2],"value"`, `"key_a":[4],"key_b":[4611686018427387904],"value"`,
			`gauge 0: observation 0 has a key beyond 2^61`},
		{`"unit":"steps"`, `"unit":7`, `gauge 0: unit is 7 but must be a string`},
		{`"unit":"steps"`, `"unit":"steps","start_ns":[1]`,
			`gauge 0: unknown key "start_ns"; the keys are rank, type, name, unit, key_a, key_b, value`},
		{`"unit":"steps"`, `"unit":"a step"`,
			`gauge 0 (rank 0, push_metric, staleness): unit "a step" must be a short word`},
		{`"gauges":[`, `"gauges":null,"x":[`, `"gauges" must be a list`},
		{`"bounds":[1,2.5]`, `"bounds":[2.5,1]`,
			`histogram 0 (rank 0, push_metric, rows): bound 1 is 1, but bounds must ascend and the one before it is 2.5`},
		{`"bounds":[1,2.5]`, `"bounds":[1]`,
			`histogram 0 (rank 0, push_metric, rows): it has 3 counts, but 1 bounds make 2 buckets`},
		{`"counts":[7,8,9]`, `"counts":[7,8,-9]`,
			`histogram 0 (rank 0, push_metric, rows): count 2: -9 must be from 0 to 2^53`},
		{`"counts":[7,8,9]`, `"counts":[7,8,1.5]`, `must be a whole number that fits in 64 bits, not 1.5`},
	} {
		t.Run(c.old, func(t *testing.T) {
			bad := strings.Replace(string(text), c.old, c.changed, 1)
			if bad == string(text) {
				t.Fatalf("%s is not in %s", c.old, text)
			}
			if _, err := parse([]byte(bad)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error is %v, want %s", c.changed, err, c.want)
			}
		})
	}
}

// The data process, which has rank -1, can record numbers too.
func TestDataRecords(t *testing.T) {
	r := example()
	r.Processes = append(r.Processes, Process{Name: "data", Rank: -1, Kind: "data"})
	r.Count(-1, metric.Head{Type: "data_metric", Name: "dropped", Unit: "rows"}, 3)
	r.SeriesOf(-1, "data_metric", "parse").Add(sdk.Measurement{StartNS: r.StartedNS, DurationNS: 5})
	path := filepath.Join(t.TempDir(), "r.json")
	if err := Write(path, r, still); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Counters) != 2 || got.Counters[1].Rank != -1 || len(got.Series) != 2 {
		t.Errorf("%+v", got.Counters)
	}
}
