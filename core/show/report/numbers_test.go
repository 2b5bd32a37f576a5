package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"pgregory.net/rapid"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/metric"
	"github.com/psbench/psbench/internal/screen"
	"github.com/psbench/psbench/sdk"
)

// numbered adds counters, gauges and histograms to a result, as parts record them. The parameter times is the number
// of each kind.
func numbered(r *result.Result, times int) *result.Result {
	head := func(typ, name, unit string, i int) metric.Head {
		if i > 0 {
			name += " " + strconv.Itoa(i)
		}
		return metric.Head{Type: typ, Name: name, Unit: unit}
	}
	for _, p := range r.Processes {
		for i := range times {
			if p.Kind == "trainer" {
				r.Count(p.Rank, head("push_metric", "sent", "B", i), int64(1<<20+p.Rank))
				g := r.GaugeOf(p.Rank, head("push_metric", "ratio of compression", "%", i))
				for k := range int64(20) {
					g.Add(sdk.Key{A: k}, 12.5+float64(k)/16)
				}
				continue
			}
			stale := r.GaugeOf(p.Rank, head("server_metric", "staleness", "steps", i))
			for k := range int64(40) {
				x := float64(k % 4)
				if k == 7 {
					x = math.Inf(1)
				}
				stale.Add(sdk.Key{A: k / 2, B: k % 2}, x)
			}
			r.Distribute(p.Rank, head("server_metric", "rows of a push", "rows", i), metric.Histogram{
				Bounds: []float64{1, 2, 4, 8, 16, 1e6}, Counts: []int64{0, 3, 0, 20, 16, 0, 1}, NaN: 2,
			})
		}
	}
	return r
}

func TestNumbersInReports(t *testing.T) {
	r := numbered(stamped(2, "ddp"), 1)
	committed(t, "report_numbers.txt", text(t, r, Options{Width: 80}))
	committed(t, "summary_numbers.txt", text(t, r, Options{Report: Summary, Width: 80}))
	r.Processes = append(r.Processes, result.Process{Name: "data", Rank: -1, Kind: "data", Key: "mine", Plugin: "mine",
		Facts: map[string]string{"rows_dropped": "12 of 400"}})
	r.Count(-1, metric.Head{Type: "data_metric", Name: "dropped", Unit: "rows"}, 12)
	r.SeriesOf(-1, "data_metric", "parse").Add(sdk.Measurement{StartNS: 1e9, DurationNS: 2e6})
	committed(t, "full_numbers.txt", text(t, r, Options{Report: Full, Width: 80}))
}

// The original benchmark has no counters, gauges or histograms. The tables in its format ignore them.
func TestTheOriginalHasNoNumbers(t *testing.T) {
	with, without := text(t, numbered(stamped(2, "ddp"), 1), Options{Stats: StatsOriginal}), text(t, stamped(2, "ddp"),
		Options{Stats: StatsOriginal})
	if d := cmp.Diff(without, with); d != "" {
		t.Error(d)
	}
}

// Numbers of all ranks equal the combined numbers of each rank, in any order of the ranks.
func TestNumbersCombineOverRanks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []float64
		var sum, values int64
		ranks := rapid.Permutation([]int{0, 1, 2, 3}).Draw(t, "ranks")
		r, whole := &result.Result{}, &result.Result{}
		c, g := metric.Head{Type: "a", Name: "c", Unit: "B"}, metric.Head{Type: "a", Name: "g", Unit: "1"}
		for _, rank := range ranks {
			n := rapid.Int64Range(0, 1<<40).Draw(t, "count")
			sum += n
			r.Count(rank, c, n)
			h := metric.NewHistogram([]float64{0, 10})
			for _, x := range rapid.SliceOfN(rapid.Float64Range(-20, 20), 0, 10).Draw(t, "values") {
				r.GaugeOf(rank, g).Add(sdk.Key{}, x)
				all = append(all, x)
				h.Counts[h.Bucket(x)]++
				values++
			}
			r.Distribute(rank, g, h)
		}
		slices.Sort(all)
		h := metric.NewHistogram([]float64{0, 10})
		for _, x := range all {
			whole.GaugeOf(0, g).Add(sdk.Key{}, x)
			h.Counts[h.Bucket(x)]++
		}
		whole.Count(0, c, sum)
		whole.Distribute(0, g, h)
		rows := func(r *result.Result) (rows [][]string) {
			for _, n := range numbersOf(r, anyRank) {
				rows = append(rows, n.row(numberColumns))
			}
			return rows
		}
		got := rows(r)
		if d := cmp.Diff(rows(whole), got); d != "" || got[len(got)-1][2] != strconv.FormatInt(sum, 10) ||
			got[len(got)-2][2] != strconv.FormatInt(values, 10) {
			t.Fatalf("%v of %d values: %s", got, values, d)
		}
	})
}

// psbench never adds numbers with different units or bounds.
func TestWhatDiffersStandsByItself(t *testing.T) {
	r := &result.Result{}
	for rank, unit := range []string{"B", "rows", "B"} {
		h := metric.Head{Type: "a", Name: "b", Unit: unit}
		r.Count(rank, h, 1)
		r.GaugeOf(rank, h).Add(sdk.Key{}, 2)
		r.Distribute(rank, h, metric.NewHistogram([]float64{float64(rank)}))
	}
	var got []string
	for _, n := range numbersOf(r, anyRank) {
		got = append(got, strings.Join(n.row([]string{"count"}), " "))
	}
	want := []string{"a,b B 2", "a,b rows 1", "a,b B 0", "a,b rows 0", "a,b B 0", "a,b B 2", "a,b rows 1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestPlainNumbers(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", math.Copysign(0, -1): "0", 3: "3", -2: "−2", 123456789: "123,456,789", 1.5: "1.5", 0.125: "0.125",
		12.34567: "12.35", -1234.5678: "−1,235",
		0.001: "0.001", 0.00012345: "0.0001234", 5e-5: "5.000e−5", 1e12: "1.000e12", 123456.789: "123,457", math.NaN(): "-",
		math.Inf(-1): "-", 0.1 + 0.2: "0.3",
		99.996: "100",
	} {
		t.Run(fmt.Sprint(x), func(t *testing.T) {
			if got := plain(x); got != want {
				t.Errorf("%v is shown as %s, want %s", x, got, want)
			}
		})
	}
	for x, want := range map[float64]string{16: "16", 0.5: "0.5", -2: "−2", 1500: "1,500", 1e3: "1,000", 1e6: "1e6",
		1e12: "1e12", 1e-5: "1e−5", 1.25e-300: "1.25e−300", 123456: "123,456"} {
		t.Run(fmt.Sprint("bound ", x), func(t *testing.T) {
			if got := bound(x); got != want {
				t.Errorf("the bound %v is shown as %s, want %s", x, got, want)
			}
		})
	}
}

// Reports state that a gauge has no finite value or that a histogram has only NaN values, and still print the tables.
func TestNumbersThatAreNone(t *testing.T) {
	r := &result.Result{Complete: true}
	r.GaugeOf(0, metric.Head{Type: "a", Name: "g", Unit: "1"}).Add(sdk.Key{}, math.NaN())
	r.GaugeOf(0, metric.Head{Type: "a", Name: "never", Unit: "1"})
	h := metric.NewHistogram([]float64{1})
	h.NaN = 1
	r.Distribute(0, metric.Head{Type: "a", Name: "h", Unit: "1"}, h)
	all := numbersOf(r, anyRank)
	page := &screen.Page{Width: 80}
	if err := numbersTable(page, "x", all); err != nil {
		t.Fatal(err)
	}
	if err := bucketTables(page, "x", all); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a,g: 1 of 1 observation is not finite and left out of the statistics",
		"a,h: 1 of 1 value is NaN and in no bucket"} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(page.String(), want) {
				t.Errorf("there is no %q in\n%s", want, page)
			}
		})
	}
	if len(all) != 2 || numbersLine(all) != "" {
		t.Errorf("%d numbers: %s", len(all), numbersLine(all))
	}
	if got := fmt.Sprint(all[0].row(numberColumns),
		all[1].row(numberColumns)); got != "[a,g 1 0 - - - - - - -] [a,h 1 0  -  - - - ]" {
		t.Error(got)
	}
}

// Tables of numbers fit a screen of 80 columns, whatever the names, units and values are.
func TestTablesOfNumbersFit(t *testing.T) {
	name := rapid.StringOfN(rapid.RuneFrom([]rune("abc_ ,é世")), 0, 70, -1)
	number := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-1e9, 1e9),
		rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), -math.MaxFloat64}))
	rapid.Check(t, func(t *rapid.T) {
		r := &result.Result{}
		for range rapid.IntRange(1, 4).Draw(t, "numbers") {
			h := metric.Head{Type: name.Draw(t, "type"), Name: name.Draw(t, "name"),
				Unit: rapid.StringMatching("[a-z%]{1,12}").Draw(t, "unit")}
			r.Count(0, h, rapid.Int64Range(0, metric.MostCount).Draw(t, "count"))
			g := r.GaugeOf(0, h)
			for _, x := range rapid.SliceOfN(number, 0, 4).Draw(t, "observed") {
				g.Add(sdk.Key{}, x)
			}
			bounds := rapid.SliceOfNDistinct(rapid.Float64Range(-1e300, 1e300), 1, 4, rapid.ID).Draw(t, "bounds")
			slices.Sort(bounds)
			d := metric.NewHistogram(bounds)
			for i := range d.Counts {
				d.Counts[i] = rapid.Int64Range(0, metric.MostCount/8).Draw(t, "count")
			}
			r.Distribute(0, h, d)
		}
		all := numbersOf(r, anyRank)
		page := &screen.Page{Width: 80}
		if err := numbersTable(page, "trainer0", all); err != nil {
			t.Fatal(err)
		}
		if err := bucketTables(page, "all ranks", all); err != nil {
			t.Fatal(err)
		}
		numbersOverview(page, r, all)
		page.Labelled("numbers", numbersLine(all))
		for text := range strings.Lines(page.String()) {
			if w := twwidth.Width(strings.TrimSuffix(text, "\n")); w > 80 {
				t.Fatalf("%d columns: %s", w, text)
			}
		}
	})
}

// psbench's own numbers have terms. Other numbers keep the names that parts give them.
func TestNumbersAreCalled(t *testing.T) {
	for name, want := range map[string]string{"launches": "device: launches",
		"device clock error": "device: clock error", "mine": "device_metric,mine"} {
		t.Run(name, func(t *testing.T) {
			if got := (&numbers{Head: metric.Head{Type: breakdown.DeviceMetric, Name: name}}).called(); got != want {
				t.Errorf("%s is called %s, want %s", name, got, want)
			}
		})
	}
}
