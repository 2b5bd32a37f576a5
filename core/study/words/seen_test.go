package words

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/model/modeltest"
	"github.com/psbench/psbench/core/study/verdict"
)

// seen returns a study with one cell per number of trainers. of gives the data that the runs of each cell used.
func seen(losses bool, of map[string]model.Seen) *model.Study {
	axis := model.Axis{Name: "ntrainer", Values: []string{"1", "2", "4"}}
	s := modeltest.Made([]model.Axis{axis}, func(values []string) modeltest.Plot {
		p := modeltest.Plot{Throughput: 100, Noise: 0.01, Runs: 3}
		if losses {
			p.Loss = 0.5
		}
		return p
	})
	for _, c := range s.All() {
		for _, r := range c.Runs {
			r.Seen = of[c.Values[0]]
		}
	}
	s.Settle()
	return s
}

func TestWhatIsLeftOutIsTold(t *testing.T) {
	all := model.Seen{Samples: 81, Batches: 6, Trained: 1620, HeldOut: 9}
	dropped := model.Seen{Samples: 81, Batches: 6, Dropped: 2, DroppedShare: 25. / 81, Trained: 1120, HeldOut: 9}
	short := model.Seen{Samples: 81, Batches: 6, LateShare: 0.5, Trained: 40, HeldOut: 9}
	longer := model.Seen{Samples: 81, Batches: 6, Trained: 3240, HeldOut: 9}
	held := model.Seen{Samples: 81, Batches: 6, Trained: 1620, HeldOut: 18}
	const each = " (2 of 6 batches of each epoch, so that connected trainers run equally many)"
	for name, c := range map[string]struct {
		metric string
		losses bool
		of     map[string]model.Seen
		row    string   // row of the cell with 4 trainers
		data   []string // sentences
	}{
		"one drops, by loss": {model.HeldOutLoss, true, map[string]model.Seen{"1": all, "2": all, "4": dropped},
			"30.9 % left out", []string{
				"the cells learn from different data: ntrainer=4 left out 30.9 % of the 81 samples" + each +
					"; ntrainer=1 and ntrainer=2 left out nothing",
				"the cells trained on different amounts of data in all: from 1,120 samples at ntrainer=4 to 1,620 samples at ntrainer=1"}},
		"one drops, by speed": {model.Throughput, false, map[string]model.Seen{"1": all, "2": all, "4": dropped},
			"30.9 % left out", []string{
				"the cells learn from different data: ntrainer=4 left out 30.9 % of the 81 samples" + each +
					"; ntrainer=1 and ntrainer=2 left out nothing"}},
		"all drop, by loss": {model.HeldOutLoss, true, map[string]model.Seen{"1": dropped, "2": dropped, "4": dropped},
			"30.9 % left out", []string{
				"ntrainer=1, ntrainer=2 and ntrainer=4 left out 30.9 % of the 81 samples" + each}},
		"all drop, by speed": {model.Throughput, false,
			map[string]model.Seen{"1": dropped, "2": dropped, "4": dropped}, "", nil},
		"a short pass, by loss": {model.HeldOutLoss, true, map[string]model.Seen{"1": short, "2": short, "4": short},
			"50.0 % left out",
			[]string{
				"ntrainer=1, ntrainer=2 and ntrainer=4 left out 50.0 % of the 81 samples (what comes after the end of a pass that was shorter than an epoch)",
			}},
		"a short pass, by speed": {model.Throughput, false, map[string]model.Seen{"1": all, "2": all, "4": short}, "",
			nil},
		"more in all, by loss": {model.HeldOutLoss, true, map[string]model.Seen{"1": all, "2": all, "4": longer},
			"", []string{
				"the cells trained on different amounts of data in all: from 1,620 samples at ntrainer=1 to 3,240 samples at ntrainer=4",
			}},
		"other held-out samples": {model.HeldOutLoss, true, map[string]model.Seen{"1": all, "2": all, "4": held}, "",
			[]string{
				"the cells were evaluated on different data: from 9 samples at ntrainer=1 to 18 samples at ntrainer=4",
			}},
		"all saw all": {model.HeldOutLoss, true, map[string]model.Seen{"1": all, "2": all, "4": all}, "",
			nil},
		"of an older psbench": {model.HeldOutLoss, true, nil, "", nil},
		"speed with losses beside": {model.Throughput, true, map[string]model.Seen{"1": all, "2": all, "4": short},
			"50.0 % left out", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := seen(c.losses, c.of)
			m, err := model.MetricOf(c.metric)
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := WriteStudy(&text, s, Options{Metric: c.metric, Full: true}); err != nil {
				t.Fatal(err)
			}
			_, row, _ := strings.Cut(text.String(), "\nntrainer=4 ")
			row, _, _ = strings.Cut(row, "\n")
			if c.row == "" && strings.Contains(row, "left out") || !strings.Contains(row, c.row) {
				t.Errorf("the row is %s", row)
			}
			sentences, err := Sentences(s, m, "")
			if err != nil {
				t.Fatal(err)
			}
			var data []string
			for _, sentence := range sentences {
				if sentence.Label == "data" {
					data = append(data, sentence.Text)
				}
			}
			if c.data != nil && strings.Join(data, "\n") != strings.Join(c.data, "\n") {
				t.Errorf("it says\n%s\nwant\n%s", strings.Join(data, "\n"), strings.Join(c.data, "\n"))
			}
			if c.data == nil && c.row == "" && data != nil {
				t.Errorf("it says %q", data)
			}
		})
	}
}

// A comparison warns if its sides learned from different data.
func TestComparedDataDiffers(t *testing.T) {
	all := model.Seen{Samples: 81, Batches: 6, Trained: 1620}
	dropped := model.Seen{Samples: 81, Batches: 6, Dropped: 2, DroppedShare: 25. / 81, Trained: 1120}
	s := seen(true, map[string]model.Seen{"1": all, "2": {Samples: 81, Batches: 6, Trained: 3240}, "4": dropped})
	m, _ := model.MetricOf(model.HeldOutLoss)
	c, err := verdict.Along(s, "ntrainer", m)
	if err != nil {
		t.Fatal(err)
	}
	warnings := strings.Join(c.Warnings, "\n")
	for _, want := range []string{
		"ntrainer=2: the sides trained on different amounts of data in all: old on 1,620 samples, new on 3,240",
		"ntrainer=4: the sides learn from different data: old left out nothing, new 30.9 % of the 81 samples (2 of 6 batches",
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			if !strings.Contains(warnings, want) {
				t.Errorf("the warnings are\n%s\nwithout %s", warnings, want)
			}
		})
	}
}
