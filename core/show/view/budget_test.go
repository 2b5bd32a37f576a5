package view

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/splitmix"
	"github.com/psbench/psbench/sdk"
)

// mostBytes is the maximum size of a document of 400 runs. The limit keeps the page with its script below 5 MB.
const mostBytes = 4_500_000

var keep = flag.String("keep", "", "a file for the document of 400 runs, for web/e2e/opening.js")

// The document of a large sweep stays within mostBytes: 400 runs in 40 cells, with 8 trainers and at least 840
// iterations each.
func TestSizeAndMemoryOf400Runs(t *testing.T) {
	s := large(t, 40, 10)
	began := time.Now()
	d, err := Of(s, fixed)
	if err != nil {
		t.Fatal(err)
	}
	text, err := d.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if *keep != "" {
		if err := os.WriteFile(*keep, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d bytes in %v; %s", len(text), time.Since(began), d.Sampling)
	if len(text) > mostBytes {
		t.Errorf("the document has %d bytes, but may have %d", len(text), mostBytes)
	}
	if len(d.Runs) != 400 || len(d.Details) != 80 || len(d.Judged[d.Metric].Against) != 40 {
		t.Errorf("%d runs, %d details, %d baselines", len(d.Runs), len(d.Details), len(d.Judged[d.Metric].Against))
	}
	for _, detail := range d.Details {
		if len(detail.Lanes) != 8 || detail.Timeline == nil {
			t.Fatalf("%d lanes, timeline %v", len(detail.Lanes), detail.Timeline)
		}
	}
}

// large returns a study with two axes. Each cell has the given number of runs. The runs share a few folders.
func large(t testing.TB, cells, runs int) *model.Study {
	t.Helper()
	const folders = 8
	var paths []string
	for i := range folders {
		dir := filepath.Join(t.TempDir(), fmt.Sprint(i))
		f, err := folder.Create(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Write(widened(t, 8, 3+i)); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, dir)
	}
	read, err := model.Load(paths)
	if err != nil {
		t.Fatal(err)
	}
	some := read.Cells[0].Runs
	s := &model.Study{Name: "large", Seed: 1, Axes: []model.Axis{{Name: "ntrainer"}, {Name: "batch_size"}}}
	random := splitmix.New(3, 0)
	for i := range cells {
		values := []string{fmt.Sprint(1 + i/8), fmt.Sprint(10 << (i % 8))}
		c := &model.Cell{ID: fmt.Sprint(i), Name: "ntrainer=" + values[0] + " batch_size=" + values[1], Values: values}
		for k := range runs {
			r := *some[(i*runs+k)%len(some)]
			r.Round, r.Values = k, maps.Clone(r.Values)
			for name := range r.Values {
				r.Values[name] *= 1 + float64(i)/50 + float64(random.IntN(1000))/1e4
			}
			c.Runs = append(c.Runs, &r)
		}
		s.Cells = append(s.Cells, c)
	}
	return s
}

// widened returns the recorded run with more trainers than its two, and with a multiple of its length.
func widened(t testing.TB, trainers, times int) *result.Result {
	t.Helper()
	r, err := folder.Read(recordedDLRM)
	if err != nil {
		t.Fatal(err)
	}
	const recorded, epochs, iterations = 2, 4, 280 // number of trainers, and what each of them ran
	length := lengthOf(r)
	var processes []result.Process
	var series []*result.Series
	rankOf := func(rank, copied int) int {
		if rank < recorded {
			return copied
		}
		return rank - recorded + trainers
	}
	for _, p := range r.Processes {
		for i := range trainers {
			if i%recorded == p.Rank || i == 0 && p.Kind != "trainer" {
				again := p
				if again.Rank = p.Rank; p.Rank >= 0 {
					again.Rank = rankOf(p.Rank, i)
					again.Name = fmt.Sprintf("%s%d", p.Kind, again.Rank)
				}
				processes = append(processes, again)
			}
		}
	}
	for _, s := range r.Series {
		for i := range trainers {
			if i%recorded == s.Rank || i == 0 && s.Rank >= recorded {
				again := result.NewSeries(rankOf(s.Rank, i), s.Type, s.Name)
				later := int64(epochs) // keys count either epochs or batches
				if strings.HasPrefix(s.Type, "hook_") || strings.HasPrefix(s.Type, "parameter_server_") {
					later = iterations
				}
				for n := range times {
					for m := range s.All() {
						again.Add(sdk.Measurement{Key: sdk.Key{A: m.Key.A + later*int64(n), B: m.Key.B},
							StartNS: m.StartNS + int64(n)*length, DurationNS: m.DurationNS})
					}
				}
				series = append(series, again)
			}
		}
	}
	r.Processes, r.Series, r.Connected = processes, series, [][]int{{}}
	for i := range trainers {
		r.Connected[0] = append(r.Connected[0], i)
	}
	losses := r.Losses
	r.Losses = nil
	for i := range trainers {
		r.Losses = append(r.Losses, losses[i%recorded])
	}
	return r
}

// lengthOf returns the time from the start of a run's first measurement to the end of its last one, in ns.
func lengthOf(r *result.Result) int64 {
	first, last := int64(1<<62), int64(0)
	for _, s := range r.Series {
		for m := range s.All() {
			first, last = min(first, m.StartNS), max(last, m.StartNS+m.DurationNS)
		}
	}
	return last - first
}
