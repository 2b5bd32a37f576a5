package view

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/core/study/words"
	"github.com/psbench/psbench/internal/golden"
)

// many returns a study in which each cell is better than the one before. The runs of the second cell have only NaN
// values. No run has a folder.
func many(cells, metrics int) *model.Study {
	s := &model.Study{Name: "many", Axes: []model.Axis{{Name: "ntrainer"}}, Baseline: 2}
	for i := range cells {
		c := &model.Cell{ID: fmt.Sprint(i), Name: fmt.Sprintf("ntrainer=%d", i), Values: []string{fmt.Sprint(i)}}
		for k := range 3 {
			r := &model.Run{Folder: "nowhere", Round: k, Values: map[string]float64{}}
			for _, m := range model.Metrics[:metrics] {
				if r.Values[m.Name] = 100 + float64(i) + float64(k)/10; m.Better == model.Lower {
					r.Values[m.Name] = 1 / r.Values[m.Name]
				}
				if i == 1 {
					r.Values[m.Name] = math.NaN()
				}
			}
			c.Runs = append(c.Runs, r)
		}
		s.Cells = append(s.Cells, c)
	}
	return s
}

// The number of left-out comparisons depends on the numbers of cells and metrics. The document states it.
func TestWhatIsLeftOut(t *testing.T) {
	var text strings.Builder
	for _, c := range []struct{ cells, metrics, baselines int }{{3, 20, 3}, {20, 20, 20}, {40, 20, 40}, {100, 3, 100},
		{101, 3, 99}, {250, 2, 40}} {
		t.Run(fmt.Sprint(c.cells), func(t *testing.T) {
			for _, metric := range []string{model.Throughput, model.TimePerBatch} {
				o := fixed
				o.Metric = metric
				d, err := Of(many(c.cells, c.metrics), o)
				if err != nil {
					t.Fatal(err)
				}
				// the run folders do not exist
				if len(d.Warnings) != 2 || d.Cells[0].Median != -1 || d.Runs[0].Detail != -1 {
					t.Errorf("%q, the median run %d", d.Warnings, d.Cells[0].Median)
				}
				against := d.Judged[metric].Against
				best := slices.Contains(slices.Collect(maps.Keys(against)), c.cells-1)
				if len(against) != c.baselines || against[2] == nil || !best || (against[1] == nil) != (c.cells > 100) {
					t.Errorf("of %d cells %d are baselines by %s; the best %v", c.cells, len(against), metric, best)
				}
				changes := 0
				for _, m := range d.Metrics {
					j := d.Judged[m.Name]
					if len(j.Estimates) != c.cells || j.Against[2] == nil {
						t.Errorf("by %s there are %d estimates, and changes from %d baselines", m.Name,
							len(j.Estimates), len(j.Against))
					}
					changes += len(j.Against) * c.cells
				}
				if changes > ownChanges+otherChanges+c.cells*c.metrics {
					t.Errorf("%d cells have %d changes", c.cells, changes)
				}
				_, _ = fmt.Fprintf(&text, "%d cells, %d metrics, by %s: %s\n", c.cells, c.metrics, metric, d.Sampling)
			}
		})
	}
	golden.Require(t, "testdata/leftout.txt", text.String())
}

// For each metric the document has the same floor as psbench show.
func TestFloorOfEachMetric(t *testing.T) {
	s, d := loaded(t, unpacked(t)), recorded(t)["sweep"]
	for _, metric := range d.Metrics {
		m, err := model.MetricOf(metric.Name)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := d.Judged[metric.Name].FloorText, words.FloorText(verdict.TableOf(s, m)); got != want {
			t.Errorf("by %s: %s, not %s", metric.Name, got, want)
		}
	}
}

// Changes have as many digits as all other numbers, so users can compute with the exact judged values.
func TestChangesHaveAllDigits(t *testing.T) {
	s, d := loaded(t, unpacked(t)), recorded(t)["sweep"]
	for _, name := range []string{model.Throughput, model.TimePerBatch} {
		t.Run(name, func(t *testing.T) {
			m, err := model.MetricOf(name)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range verdict.TableOf(s, m).Rows {
				got := d.Judged[name].Against[d.Baseline][i]
				if !r.Compared {
					continue
				}
				if want := rounded(r.Change.Change, mostDigits); got == nil || *got.Change != want {
					t.Errorf("by %s %s changes by %v, not %v", name, r.Cell.Name, got, want)
				}
			}
		})
	}
}
