package study

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/golden"
	"github.com/psbench/psbench/internal/splitmix"
)

// plot is what the runs of a made cell have.
type plot struct {
	throughput, noise float64 // relative: the standard deviation of a uniform distribution
	loss              float64
	runs              int
	epochs            []float64 // the AUC after each, every one of 2 s
	late              int       // so many runs never reach more than the first
	skipped, same     string
	failed            int
	silent            bool
	iterations        int
}

// made is a study, in rounds, whose cells are what a function says of the values, with an A/A cell.
func made(axes []Axis, of func(values []string) plot) *Study {
	s := &Study{Name: "made", Axes: axes, Seed: 1, InRounds: true}
	random := splitmix.New(42, 0)
	points := [][]string{nil}
	for _, a := range axes {
		var next [][]string
		for _, p := range points {
			for _, v := range a.Values {
				next = append(next, append(slices.Clone(p), v))
			}
		}
		points = next
	}
	for _, values := range points {
		p := of(values)
		c := &Cell{ID: strings.Join(values, "/"), Name: nameOf(axes, values), Values: values, Skipped: p.skipped, Same: p.same}
		p.fill(c, random)
		s.Cells = append(s.Cells, c)
	}
	b := s.Cells[0]
	s.Again = &Cell{ID: "again", Name: b.Name, Values: b.Values}
	of(b.Values).fill(s.Again, random)
	return s
}

func (p plot) fill(c *Cell, random *splitmix.Stream) {
	noise := func() float64 { return 1 + p.noise*math.Sqrt(12)*(float64(random.IntN(1001))/1000-0.5) }
	for round := range p.runs {
		x := p.throughput * noise()
		r := &Run{Folder: fmt.Sprintf("runs/%s/%d", c.ID, round), Round: round, Seed: uint64(round), Iterations: p.iterations, Silent: p.silent, Values: map[string]float64{
			Throughput: x, TimePerBatch: 20_000 / x, Compute: 60, Waiting: 10, Moving: 25,
		}}
		if p.iterations >= 100 {
			r.Values[P99] = 30_000 / x
		}
		if p.loss > 0 {
			r.Values[HeldOutLoss] = p.loss * (1 + 0.001*float64(round))
		}
		for i, auc := range p.epochs {
			if i > 0 && round < p.late {
				auc = p.epochs[0]
			}
			r.Epochs = append(r.Epochs, Epoch{2000 / x * float64(i+1), 3e6 * float64(i+1), map[string]float64{"held_out_auc": auc}})
		}
		c.Runs = append(c.Runs, r)
	}
	for round := range p.failed {
		c.Failed = append(c.Failed, Failure{fmt.Sprintf("runs/%s/%d", c.ID, p.runs+round), p.runs + round, "trainer1 died: it was killed"})
	}
}

var servers = []Axis{{"server", []string{"average", "batch", "sum"}}}

// speeds are the cells of an axis of servers, each with ten runs.
func speeds(of map[string]float64, change func(server string, p *plot)) *Study {
	return made(servers, func(values []string) plot {
		p := plot{throughput: of[values[0]], noise: 0.01, runs: 10, iterations: 100}
		if change != nil {
			change(values[0], &p)
		}
		return p
	})
}

// matrix are two servers, of which each is better with another count of trainers.
func matrix(v []string) plot {
	p := plot{throughput: 1000, noise: 0.01, runs: 10, iterations: 40}
	if v[1] == "4" {
		p.throughput *= 3
	}
	if (v[0] == "batch") == (v[1] == "4") {
		p.throughput *= 1.2
	}
	if v[2] == "large" {
		p.throughput /= 10
	}
	return p
}

// Of one run, of more, and of those that are waiting it is said why nothing is.
func TestNothingCanBeSaid(t *testing.T) {
	for want, c := range map[string]*Cell{
		"nothing can be said: the only run failed":                                 {Failed: make([]Failure, 1)},
		"nothing can be said: all of 2 runs failed":                                {Failed: make([]Failure, 2)},
		"nothing can be said yet: no run has come to its end, 1 failed, 1 waiting": {Failed: make([]Failure, 1), Waiting: 1},
		"nothing can be said: none of 1 run has a throughput":                      {Runs: make([]*Run, 1)},
	} {
		m, err := MetricOf(Throughput)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&Study{Cells: []*Cell{c}}).nothing(m); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// Names of cells, which are anybody's, do nothing to the terminal.
func TestTextIsPrintable(t *testing.T) {
	s := speeds(map[string]float64{"average": 1000, "batch": 1100, "sum": 900}, nil)
	for _, c := range s.Cells {
		c.Name += "\x1b[31mred\nline"
	}
	var out bytes.Buffer
	if err := s.Text(&out, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `\x1b[31mred\nline`) || strings.Contains(out.String(), "\x1b") {
		t.Errorf("it prints %q", out.String())
	}
}

// What a study says, one golden file for each kind of answer.
func TestText(t *testing.T) {
	apart := map[string]float64{"average": 1000, "batch": 1100, "sum": 900}
	level := map[string]float64{"average": 1000, "batch": 1004, "sum": 900}
	two := []Axis{{"server", []string{"average", "batch"}}, {"ntrainer", []string{"1", "4"}}, {"model", []string{"small", "large"}}}
	for name, test := range map[string]struct {
		study   *Study
		options TextOptions
	}{
		"wins":       {study: speeds(apart, nil)},
		"narrow":     {speeds(apart, nil), TextOptions{Width: 80}},
		"cannottell": {study: speeds(level, nil)},
		"apart": {study: func() *Study { // not in rounds
			s := speeds(apart, nil)
			s.InRounds = false
			return s
		}()},
		"ownfloor": {study: func() *Study { // every second run of batch is slow, so that its own floor keeps it from being proven
			s := speeds(map[string]float64{"average": 1000, "batch": 1000, "sum": 900}, nil)
			for round, factor := range []float64{1.0, 0.632, 1.002, 0.628, 1.001, 0.637, 1.004, 0.63, 1.006, 0.679} {
				s.Cells[1].Runs[round].Values[Throughput] = 1000 * factor
			}
			return s
		}()},
		"ties":      {study: speeds(map[string]float64{"average": 1000, "batch": 1000, "sum": 1000}, func(_ string, p *plot) { p.noise = 0 })},
		"fewruns":   {study: speeds(apart, func(_ string, p *plot) { p.runs, p.iterations = 3, 30 })},
		"onerun":    {study: speeds(apart, func(_ string, p *plot) { p.runs = 1 })},
		"allfailed": {study: speeds(apart, func(_ string, p *plot) { p.runs, p.failed = 0, 2 })},
		"waiting": {study: func() *Study {
			s := speeds(apart, func(server string, p *plot) { p.runs, p.failed = 0, len(server)%2 })
			s.Cells[1].Waiting = 4
			return s
		}()},
		"extended": {study: func() *Study {
			s := speeds(apart, nil)
			s.Begun = 6
			return s
		}()},
		"onecell": {study: speeds(apart, func(server string, p *plot) {
			if server != "average" {
				p.runs, p.skipped = 0, "server "+server+" needs 2 trainers"
			}
		})},
		"loss": {study: speeds(apart, func(server string, p *plot) {
			p.loss = map[string]float64{"average": 0.3, "batch": 0.4, "sum": 0.3001}[server]
		})},
		"bound": {study: speeds(apart, func(server string, p *plot) { // what is fastest exchanges nothing
			if p.silent = server == "batch"; p.silent {
				p.runs, p.failed = 6, 20
			}
		})},
		"onlybounds": {study: speeds(apart, func(server string, p *plot) { p.silent = server != "sum" })},
		"target": {speeds(apart, func(server string, p *plot) {
			p.epochs, p.loss = []float64{0.7, 0.81, 0.82}, 0.3
			p.late = map[string]int{"average": 0, "batch": 2, "sum": 7}[server]
			p.failed = map[string]int{"batch": 1}[server]
		}), TextOptions{Target: "auc=0.8"}},
		"targetmissed":  {speeds(apart, func(_ string, p *plot) { p.epochs = []float64{0.7, 0.75} }), TextOptions{Target: "auc=0.8"}},
		"targetunknown": {speeds(apart, nil), TextOptions{Target: "loss=0.2"}},
		"metric":        {speeds(apart, nil), TextOptions{Metric: TimePerBatch}},
		"matrix":        {study: made(two, matrix)},
		"crossing": {study: made(two, func(v []string) plot {
			p := matrix(v)
			switch strings.Join(v, "/") {
			case "average/4/large":
				p.throughput *= 2
			case "batch/4/small":
				p = plot{same: "average/4/small"}
			}
			return p
		})},
		"interaction": {study: made(two[:2], func(v []string) plot { // neither has an effect of its own
			p := plot{throughput: 1000, noise: 0.01, runs: 10, iterations: 100}
			if (v[0] == "average") == (v[1] == "1") {
				p.throughput = 1300
			}
			return p
		})},
		"missingcells": {study: made(two[:2], func(v []string) plot { // what ntrainer does is no merit of the server
			p := plot{throughput: 1000, noise: 0.01, runs: 10, iterations: 100}
			switch strings.Join(v, "/") {
			case "average/4":
				p.throughput = 3000
			case "batch/4":
				p.throughput = 3150
			case "batch/1":
				p = plot{skipped: "server batch needs 2 trainers"}
			}
			return p
		})},
		"fewrunsagain": {study: made([]Axis{{"server", strings.Split("abcdef", "")}}, func(v []string) plot {
			return plot{throughput: map[string]float64{"a": 2000, "b": 1990}[v[0]] + 1000, noise: 0.01, runs: 4, iterations: 100}
		})},
		"lossrounding": {study: func() *Study {
			s := speeds(apart, nil)
			for _, c := range s.All() {
				for _, r := range c.Runs {
					r.Values[HeldOutLoss] = max(6.931474, map[string]float64{"batch": 6.931475}[c.ID]) // as sums in another order make it
				}
			}
			return s
		}()},
		"lossdiverged": {study: func() *Study {
			s := speeds(apart, func(_ string, p *plot) { p.loss = 0.3 })
			for _, c := range []*Cell{s.Cells[0], s.Cells[1], s.Again} {
				c.Runs[0].Values[HeldOutLoss] = math.NaN()
			}
			return s
		}()},
		"warnings": {study: func() *Study {
			s := speeds(apart, nil)
			for i, r := range s.Cells[1].Runs {
				if i%2 == 0 {
					r.Values[Throughput] *= 1.5
				}
				if i > 6 {
					r.Warnings = []string{"a trend within the run: from the first of 100 iterations to the last they take 9.0 % more", fmt.Sprintf("odd %d.5 things", i), "more odd things"}
				}
			}
			for _, r := range s.Cells[2].Runs {
				r.Warnings = []string{"hook noop never uses the servers: give --nserver 0 to run without"}
			}
			delete(s.Cells[2].Runs[3].Values, Throughput)
			s.Cells[2].Runs[4].Values[Throughput] = math.NaN()
			for i, r := range s.allRuns() {
				r.Environment = result.Environment{CPU: "A CPU", Cores: 2, MemoryMiB: 2048, OS: "linux", Kernel: fmt.Sprint("6.", i/39), Commit: "abc"}
			}
			s.Warnings = []string{"2 runs failed, twice in all, and came to an end when repeated: the values are those of the repetition, and the failures count"}
			return s
		}()},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := test.study.Text(&out, test.options); err != nil {
				t.Fatal(err)
			}
			golden.Require(t, filepath.Join("testdata", name+".txt"), out.String())
		})
	}
}
