package sketch

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/golden"
	"github.com/psbench/psbench/sdk"
)

// run returns a run whose iterations take the given times in ms.
func run(ms ...float64) *result.Result {
	r := &result.Result{Connected: [][]int{{0}}, Processes: []result.Process{{Kind: "trainer"}}}
	at := int64(1e9)
	for i, t := range ms {
		ns := int64(t * 1e6)
		for _, m := range []string{"forward_metric/forward_pass", "batch_level_metric/batch_all"} {
			typ, name, _ := strings.Cut(m, "/")
			r.SeriesOf(0, typ, name).Add(sdk.Measurement{Key: sdk.Key{B: int64(i)}, StartNS: at, DurationNS: ns})
		}
		at += ns
	}
	return r
}

// ladder returns a study with a cell for each server and each number of trainers. The function value gives the values
// of its runs.
func ladder(servers []string, trainers []string, value func(server string, trainers, run int) float64) *model.Study {
	s := &model.Study{Name: "ladder",
		Axes: []model.Axis{{Name: "server", Values: servers}, {Name: "ntrainer", Values: trainers}}}
	for _, server := range servers {
		for _, n := range trainers {
			c := &model.Cell{ID: server + n, Name: "server=" + server + " ntrainer=" + n, Values: []string{server, n}}
			count, _ := strconv.Atoi(n)
			for i := range 3 {
				if v := value(server, count, i); !math.IsNaN(v) {
					c.Runs = append(c.Runs, &model.Run{Values: map[string]float64{model.Throughput: v}})
				}
			}
			s.Cells = append(s.Cells, c)
		}
	}
	return s
}

func throughput(t *testing.T) model.Metric {
	t.Helper()
	m, err := model.MetricOf(model.Throughput)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestPictures(t *testing.T) {
	long := make([]float64, 200)
	for i := range long {
		long[i] = 10 + 4*math.Sin(float64(i))
	}
	long[7] = 200
	servers := []string{"average", "average_batch"}
	grown := func(server string, trainers, run int) float64 {
		if server == "average_batch" && trainers == 4 {
			return math.NaN() // a failed run
		}
		return 1000*float64(trainers)/(1+0.1*float64(trainers)) - 300*float64(len(server)-7)/6 + float64(run)
	}
	var out bytes.Buffer
	for _, p := range []struct {
		name string
		draw func(s Style) error
		s    Style
	}{
		{"iterations, one of which took long", func(s Style) error { return Iterations(&out, run(long...), s) },
			Style{}},
		{"the same in ASCII, on 60 columns", func(s Style) error { return Iterations(&out, run(long...), s) },
			Style{Width: 60, ASCII: true}},
		{"one far outlier of few",
			func(s Style) error { return Iterations(&out, run(append(long[20:50:50], 5000)...), s) }, Style{Width: 60}},
		{"two clusters", func(s Style) error {
			return Iterations(&out, run(append(append([]float64{}, long[20:40]...), 101, 103, 105, 107, 109, 104)...),
				s)
		}, Style{Width: 60}},
		{"iterations that are all the same", func(s Style) error { return Iterations(&out, run(5, 5, 5, 5, 5, 5), s) },
			Style{Width: 60}},
		{"all but one", func(s Style) error { return Iterations(&out, run(append(make([]float64, 300), 7)...), s) },
			Style{Width: 60}},
		{"the warm-up", func(s Style) error {
			r := run(5, 5, 5, 5, 6)
			r.Pass = result.WarmUp
			return Iterations(&out, r, s)
		}, Style{Width: 60}},
		{"few", func(s Style) error { return Iterations(&out, run(5, 6), s) }, Style{}},
		{"a narrow screen", func(s Style) error { return Iterations(&out, run(long...), s) }, Style{Width: 39}},
		{"scaling, in letters", func(s Style) error {
			return Scaling(&out, ladder(servers, []string{"1", "2", "4", "8"}, grown), throughput(t), s)
		}, Style{}},
		{"the same, a single server, in ASCII", func(s Style) error {
			return Scaling(&out, ladder(servers[:1], []string{"8", "1", "2"}, grown), throughput(t), s)
		}, Style{Width: 70, ASCII: true}},
		{"the same, with colours", func(s Style) error {
			return Scaling(&out, ladder(servers, []string{"1", "2", "8"}, grown), throughput(t), s)
		}, Style{Width: 70, Colour: true}},
		{"more curves than there are colours", func(s Style) error {
			return Scaling(&out, ladder([]string{"average", "b", "c", "d", "e", "f", "g", "h"}, []string{"1", "2", "3"},
				grown), throughput(t), s)
		}, Style{Width: 70}},
		{"no axis of numbers", func(s Style) error {
			return Scaling(&out, ladder(servers, []string{"1", "2", "many"}, grown), throughput(t), s)
		}, Style{}},
		{"no runs", func(s Style) error {
			return Scaling(&out,
				ladder(servers, []string{"1", "2", "3"}, func(string, int, int) float64 { return math.NaN() }),
				throughput(t), s)
		}, Style{}},
	} {
		fmt.Fprintf(&out, "# %s\n", p.name)
		if err := p.draw(p.s); err != nil {
			t.Fatal(err)
		}
	}
	golden.Require(t, "testdata/pictures.txt", out.String())
}

// row matches a row of a histogram and captures its count.
var row = regexp.MustCompile(`^ *(?:over .*|\S+ to +\S+) [│|][^0-9]* (\d+)(?:, up to .*)?\n$`)

// Every picture fits the screen, and the histogram counts every value.
func TestPicturesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Style{Width: rapid.IntRange(0, 150).Draw(t, "width"), ASCII: rapid.Bool().Draw(t, "ascii")}
		times := rapid.SliceOfN(rapid.Float64Range(0, 1e9), 0, 200).Draw(t, "times")
		value := rapid.OneOf(rapid.Float64Range(1e-9, 1e12), rapid.Just(math.NaN()), rapid.Just(0.0))
		servers := []string{"average", rapid.String().Draw(t, "server")}
		axis := rapid.SliceOfNDistinct(rapid.StringMatching(`[0-9]{1,9}(\.[0-9])?(KiB)?`), 1, 8, rapid.ID).Draw(t,
			"axis")
		st := ladder(servers, axis, func(string, int, int) float64 { return value.Draw(t, "value") })
		var out bytes.Buffer
		if err := Iterations(&out, run(times...), s); err != nil {
			t.Fatal(err)
		}
		columns, ok := s.columns()
		tight := columns < 60 && out.Len() == 0 // the numbers of wide scales fill a narrow screen
		if ok && !tight && len(times) >= leastValues {
			counted := 0
			for line := range strings.Lines(out.String()) {
				if found := row.FindStringSubmatch(line); found != nil {
					n, _ := strconv.Atoi(found[1])
					counted += n
				}
			}
			if counted != len(times) {
				t.Fatalf("%d of %d iterations are drawn on %d columns:\n%s", counted, len(times), columns, out.String())
			}
		}
		if err := Scaling(&out, st, model.Metric{Name: model.Throughput, Unit: "samples/s"}, s); err != nil {
			t.Fatal(err)
		}
		if !ok && out.Len() > 0 {
			t.Fatalf("a screen of %d columns gets a picture", s.Width)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > columns {
				t.Fatalf("%d columns on a screen of %d: %q", n, columns, line)
			}
			if i := strings.IndexFunc(line, func(r rune) bool { return r >= utf8.RuneSelf }); s.ASCII && i >= 0 {
				t.Fatalf("no ASCII: %q", line)
			}
		}
	})
}

// Write errors are returned.
func TestPicturesFail(t *testing.T) {
	st := ladder([]string{"average"}, []string{"1", "2", "3"}, func(_ string, n, _ int) float64 { return float64(n) })
	if err := Iterations(full{}, run(1, 2, 3, 4, 5), Style{}); err == nil {
		t.Error("the histogram did not fail")
	}
	if err := Scaling(full{}, st, throughput(t), Style{}); err == nil {
		t.Error("the curve did not fail")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("no space left on device") }
