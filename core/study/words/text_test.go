package words

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/model/modeltest"
	"github.com/psbench/psbench/internal/golden"
)

// matrix returns the plot of a cell. Each of the two servers is better with a different number of trainers.
func matrix(v []string) modeltest.Plot {
	p := modeltest.Plot{Throughput: 1000, Noise: 0.01, Runs: 10, Iterations: 40}
	if v[1] == "4" {
		p.Throughput *= 3
	}
	if (v[0] == "batch") == (v[1] == "4") {
		p.Throughput *= 1.2
	}
	if v[2] == "large" {
		p.Throughput /= 10
	}
	return p
}

// nothing names the reason: one failed run, several, waiting runs, or runs without the metric.
func TestNothingCanBeSaid(t *testing.T) {
	for want, c := range map[string]*model.Cell{
		"nothing can be said: the only run failed":  {Failed: make([]model.Failure, 1)},
		"nothing can be said: all of 2 runs failed": {Failed: make([]model.Failure, 2)},
		"nothing can be said yet: no run has come to its end, 1 failed, 1 waiting": {Failed: make([]model.Failure, 1),
			Waiting: 1},
		"nothing can be said: none of 1 run has a throughput": {Runs: make([]*model.Run, 1)},
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			m, err := model.MetricOf(model.Throughput)
			if err != nil {
				t.Fatal(err)
			}
			if got := nothing((&model.Study{Cells: []*model.Cell{c}}), m); got != want {
				t.Errorf("%q, not %q", got, want)
			}
		})
	}
}

// Names of cells are untrusted text and cannot control the terminal.
func TestTextIsPrintable(t *testing.T) {
	s := modeltest.Speeds(map[string]float64{"average": 1000, "batch": 1100, "sum": 900}, nil)
	for _, c := range s.Cells {
		c.Name += "\x1b[31mred\nline"
	}
	var out bytes.Buffer
	if err := WriteStudy(&out, s, Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `\x1b[31mred\nline`) || strings.Contains(out.String(), "\x1b") {
		t.Errorf("it prints %q", out.String())
	}
}

// Each kind of answer has a golden file.
func TestText(t *testing.T) {
	apart := map[string]float64{"average": 1000, "batch": 1100, "sum": 900}
	level := map[string]float64{"average": 1000, "batch": 1004, "sum": 900}
	two := []model.Axis{{Name: "server", Values: []string{"average", "batch"}},
		{Name: "ntrainer", Values: []string{"1", "4"}}, {Name: "model", Values: []string{"small", "large"}}}
	for name, test := range map[string]struct {
		study   *model.Study
		options Options
	}{
		"wins":       {study: modeltest.Speeds(apart, nil)},
		"narrow":     {modeltest.Speeds(apart, nil), Options{Width: 80}},
		"cannottell": {study: modeltest.Speeds(level, nil)},
		"apart": {study: func() *model.Study { // not in rounds
			s := modeltest.Speeds(apart, nil)
			s.InRounds = false
			return s
		}()},
		// Every second run of batch is slow, so the floor of its own rounds is too high for a proof.
		"ownfloor": {study: func() *model.Study {
			s := modeltest.Speeds(map[string]float64{"average": 1000, "batch": 1000, "sum": 900}, nil)
			for round, factor := range []float64{1.0, 0.632, 1.002, 0.628, 1.001, 0.637, 1.004, 0.63, 1.006, 0.679} {
				s.Cells[1].Runs[round].Values[model.Throughput] = 1000 * factor
			}
			return s
		}()},
		"ties": {study: modeltest.Speeds(map[string]float64{"average": 1000, "batch": 1000, "sum": 1000},
			func(_ string, p *modeltest.Plot) { p.Noise = 0 })},
		"fewruns": {
			study: modeltest.Speeds(apart, func(_ string, p *modeltest.Plot) { p.Runs, p.Iterations = 3, 30 }),
		},
		"onerun":    {study: modeltest.Speeds(apart, func(_ string, p *modeltest.Plot) { p.Runs = 1 })},
		"allfailed": {study: modeltest.Speeds(apart, func(_ string, p *modeltest.Plot) { p.Runs, p.Failed = 0, 2 })},
		"waiting": {study: func() *model.Study {
			s := modeltest.Speeds(apart, func(server string, p *modeltest.Plot) { p.Runs, p.Failed = 0, len(server)%2 })
			s.Cells[1].Waiting = 4
			return s
		}()},
		"extended": {study: func() *model.Study {
			s := modeltest.Speeds(apart, nil)
			s.Begun = 6
			return s
		}()},
		"onecell": {study: modeltest.Speeds(apart, func(server string, p *modeltest.Plot) {
			if server != "average" {
				p.Runs, p.Skipped = 0, "server "+server+" needs 2 trainers"
			}
		})},
		"loss": {study: modeltest.Speeds(apart, func(server string, p *modeltest.Plot) {
			p.Loss = map[string]float64{"average": 0.3, "batch": 0.4, "sum": 0.3001}[server]
		})},
		// In the fastest cell, the trainers exchange no data.
		"bound": {study: modeltest.Speeds(apart, func(server string, p *modeltest.Plot) {
			if p.Silent = server == "batch"; p.Silent {
				p.Runs, p.Failed = 6, 20
			}
		})},
		"onlybounds": {study: modeltest.Speeds(apart, func(server string, p *modeltest.Plot) { p.Silent = server != "sum" })},
		"target": {modeltest.Speeds(apart, func(server string, p *modeltest.Plot) {
			p.Epochs, p.Loss = []float64{0.7, 0.81, 0.82}, 0.3
			p.Late = map[string]int{"average": 0, "batch": 2, "sum": 7}[server]
			p.Failed = map[string]int{"batch": 1}[server]
		}), Options{Target: "auc=0.8"}},
		"targetmissed": {modeltest.Speeds(apart,
			func(_ string, p *modeltest.Plot) { p.Epochs = []float64{0.7, 0.75} }), Options{Target: "auc=0.8"}},
		"targetunknown": {modeltest.Speeds(apart, nil), Options{Target: "loss=0.2"}},
		"metric":        {modeltest.Speeds(apart, nil), Options{Metric: model.TimePerBatch}},
		"matrix":        {study: modeltest.Made(two, matrix)},
		"crossing": {study: modeltest.Made(two, func(v []string) modeltest.Plot {
			p := matrix(v)
			switch strings.Join(v, "/") {
			case "average/4/large":
				p.Throughput *= 2
			case "batch/4/small":
				p = modeltest.Plot{Same: "average/4/small"}
			}
			return p
		})},
		// Neither axis has an effect of its own.
		"interaction": {study: modeltest.Made(two[:2], func(v []string) modeltest.Plot {
			p := modeltest.Plot{Throughput: 1000, Noise: 0.01, Runs: 10, Iterations: 100}
			if (v[0] == "average") == (v[1] == "1") {
				p.Throughput = 1300
			}
			return p
		})},
		// A missing cell must not let an effect of ntrainer count for the server.
		"missingcells": {study: modeltest.Made(two[:2], func(v []string) modeltest.Plot {
			p := modeltest.Plot{Throughput: 1000, Noise: 0.01, Runs: 10, Iterations: 100}
			switch strings.Join(v, "/") {
			case "average/4":
				p.Throughput = 3000
			case "batch/4":
				p.Throughput = 3150
			case "batch/1":
				p = modeltest.Plot{Skipped: "server batch needs 2 trainers"}
			}
			return p
		})},
		"fewrunsagain": {study: modeltest.Made([]model.Axis{{Name: "server", Values: strings.Split("abcdef", "")}}, func(v []string) modeltest.Plot {
			return modeltest.Plot{Throughput: map[string]float64{"a": 2000, "b": 1990}[v[0]] + 1000, Noise: 0.01,
				Runs: 4, Iterations: 100}
		})},
		"lossrounding": {study: func() *model.Study {
			s := modeltest.Speeds(apart, nil)
			for _, c := range s.All() {
				for _, r := range c.Runs {
					// another order of summation changes the rounding
					r.Values[model.HeldOutLoss] = max(6.931474, map[string]float64{"batch": 6.931475}[c.ID])
				}
			}
			return s
		}()},
		"lossdiverged": {study: func() *model.Study {
			s := modeltest.Speeds(apart, func(_ string, p *modeltest.Plot) { p.Loss = 0.3 })
			for _, c := range []*model.Cell{s.Cells[0], s.Cells[1], s.Again} {
				c.Runs[0].Values[model.HeldOutLoss] = math.NaN()
			}
			return s
		}()},
		"warnings": {study: func() *model.Study {
			s := modeltest.Speeds(apart, nil)
			for i, r := range s.Cells[1].Runs {
				if i%2 == 0 {
					r.Values[model.Throughput] *= 1.5
				}
				if i > 6 {
					r.Warnings = []string{
						"a trend within the run: from the first of 100 iterations to the last they take 9.0 % more",
						fmt.Sprintf("odd %d.5 things", i), "more odd things",
					}
				}
			}
			for _, r := range s.Cells[2].Runs {
				r.Warnings = []string{"hook noop never uses the servers: give --nserver 0 to run without"}
			}
			delete(s.Cells[2].Runs[3].Values, model.Throughput)
			s.Cells[2].Runs[4].Values[model.Throughput] = math.NaN()
			for i, r := range s.AllRuns() {
				r.Environment = result.Environment{CPU: "A CPU", Cores: 2, MemoryMiB: 2048, OS: "linux",
					Kernel: fmt.Sprint("6.", i/39), Commit: "abc"}
			}
			s.Warnings = []string{
				"2 runs failed, twice in all, and completed when repeated: the values are from the repetition, and the failures count",
			}
			return s
		}()},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.Full = true
			requireStudy(t, name, test.study, test.options)
			requireShort(t, name, test.study, test.options)
		})
	}
}

func requireStudy(t *testing.T, name string, s *model.Study, o Options) {
	t.Helper()
	var out bytes.Buffer
	if err := WriteStudy(&out, s, o); err != nil {
		t.Fatal(err)
	}
	golden.Require(t, filepath.Join("testdata", name+".txt"), out.String())
}

// requireShort checks that the short text of a study has its table and at most 20 more lines.
func requireShort(t *testing.T, name string, s *model.Study, o Options) {
	t.Helper()
	o.Full, o.Width = false, max(o.Width, 100)
	requireStudy(t, "short/"+name, s, o)
	var out bytes.Buffer
	if err := WriteStudy(&out, s, o); err != nil {
		t.Fatal(err)
	}
	const most = 25
	if lines := strings.Count(out.String(), "\n"); len(s.Cells) <= 6 && lines > most {
		t.Errorf("the answer of %d cells has %d lines, more than %d:\n%s", len(s.Cells), lines, most, &out)
	}
}
