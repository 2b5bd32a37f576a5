package study

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/record/result"
)

func TestSeenOf(t *testing.T) {
	data := result.Partition{Samples: 81, Batches: 6, BatchesPerTrainer: []int{1, 1, 1, 1}, SamplesPerTrainer: []int{14, 14, 14, 14}, DroppedBatches: 2}
	for name, c := range map[string]struct {
		data          result.Partition
		iterations    int
		dropped, late float64
	}{
		"dropped":             {data, 1, 25. / 81, 0},
		"dropped, two epochs": {data, 2, 25. / 81, 0},
		"all":                 {result.Partition{Samples: 40, Batches: 4, BatchesPerTrainer: []int{2, 2}, SamplesPerTrainer: []int{20, 20}}, 2, 0, 0},
		"half an epoch":       {result.Partition{Samples: 40, Batches: 4, BatchesPerTrainer: []int{2, 2}, SamplesPerTrainer: []int{20, 20}}, 1, 0, 0.5},
		"no data":             {result.Partition{}, 1, 0, 0},
		"of an older psbench": {result.Partition{Samples: 40, BatchesPerTrainer: []int{2, 2}}, 1, 0, 0},
	} {
		r := &result.Result{Data: c.data, Losses: make([][]float64, len(c.data.BatchesPerTrainer))}
		for i := range r.Losses {
			r.Losses[i] = make([]float64, c.iterations)
		}
		if got := seenOf(r); math.Abs(got.DroppedShare-c.dropped)+math.Abs(got.LateShare-c.late) > 1e-12 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// seen makes a study over counts of trainers, of which the runs saw so much.
func seen(losses bool, of map[string]Seen) *Study {
	axis := Axis{Name: "ntrainer", Values: []string{"1", "2", "4"}}
	s := made([]Axis{axis}, func(values []string) plot {
		p := plot{throughput: 100, noise: 0.01, runs: 3}
		if losses {
			p.loss = 0.5
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
	all := Seen{Samples: 81, Batches: 6, Trained: 1620, HeldOut: 9}
	dropped := Seen{Samples: 81, Batches: 6, Dropped: 2, DroppedShare: 25. / 81, Trained: 1120, HeldOut: 9}
	short := Seen{Samples: 81, Batches: 6, LateShare: 0.5, Trained: 40, HeldOut: 9}
	longer := Seen{Samples: 81, Batches: 6, Trained: 3240, HeldOut: 9}
	held := Seen{Samples: 81, Batches: 6, Trained: 1620, HeldOut: 18}
	const each = " (2 of 6 batches of each epoch, so that connected trainers run equally many)"
	for name, c := range map[string]struct {
		metric string
		losses bool
		of     map[string]Seen
		row    string   // what the row of 4 trainers says
		data   []string // sentences
	}{
		"one drops, by loss": {HeldOutLoss, true, map[string]Seen{"1": all, "2": all, "4": dropped}, "30.9 % left out", []string{
			"the cells learn from different data: ntrainer=4 left out 30.9 % of the 81 samples" + each + "; ntrainer=1 and ntrainer=2 left out nothing",
			"the cells trained on different amounts of data in all: from 1,120 samples at ntrainer=4 to 1,620 samples at ntrainer=1"}},
		"one drops, by speed": {Throughput, false, map[string]Seen{"1": all, "2": all, "4": dropped}, "30.9 % left out", []string{
			"the cells learn from different data: ntrainer=4 left out 30.9 % of the 81 samples" + each + "; ntrainer=1 and ntrainer=2 left out nothing"}},
		"all drop, by loss": {HeldOutLoss, true, map[string]Seen{"1": dropped, "2": dropped, "4": dropped}, "30.9 % left out", []string{
			"ntrainer=1, ntrainer=2 and ntrainer=4 left out 30.9 % of the 81 samples" + each}},
		"all drop, by speed":       {Throughput, false, map[string]Seen{"1": dropped, "2": dropped, "4": dropped}, "", nil},
		"a short pass, by loss":    {HeldOutLoss, true, map[string]Seen{"1": short, "2": short, "4": short}, "50.0 % left out", []string{"ntrainer=1, ntrainer=2 and ntrainer=4 left out 50.0 % of the 81 samples (what comes after the end of a pass that was shorter than an epoch)"}},
		"a short pass, by speed":   {Throughput, false, map[string]Seen{"1": all, "2": all, "4": short}, "", nil},
		"more in all, by loss":     {HeldOutLoss, true, map[string]Seen{"1": all, "2": all, "4": longer}, "", []string{"the cells trained on different amounts of data in all: from 1,620 samples at ntrainer=1 to 3,240 samples at ntrainer=4"}},
		"other held-out samples":   {HeldOutLoss, true, map[string]Seen{"1": all, "2": all, "4": held}, "", []string{"the cells were evaluated on different data: from 9 samples at ntrainer=1 to 18 samples at ntrainer=4"}},
		"all saw all":              {HeldOutLoss, true, map[string]Seen{"1": all, "2": all, "4": all}, "", nil},
		"of an older psbench":      {HeldOutLoss, true, nil, "", nil},
		"speed with losses beside": {Throughput, true, map[string]Seen{"1": all, "2": all, "4": short}, "50.0 % left out", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := seen(c.losses, c.of)
			m, err := MetricOf(c.metric)
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := s.Text(&text, TextOptions{Metric: c.metric}); err != nil {
				t.Fatal(err)
			}
			_, row, _ := strings.Cut(text.String(), "\nntrainer=4 ")
			row, _, _ = strings.Cut(row, "\n")
			if c.row == "" && strings.Contains(row, "left out") || !strings.Contains(row, c.row) {
				t.Errorf("the row is %s", row)
			}
			sentences, err := s.Sentences(m, "")
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

// A comparison warns where its sides learnt from different data.
func TestComparedDataDiffers(t *testing.T) {
	all := Seen{Samples: 81, Batches: 6, Trained: 1620}
	dropped := Seen{Samples: 81, Batches: 6, Dropped: 2, DroppedShare: 25. / 81, Trained: 1120}
	s := seen(true, map[string]Seen{"1": all, "2": {Samples: 81, Batches: 6, Trained: 3240}, "4": dropped})
	m, _ := MetricOf(HeldOutLoss)
	c, err := s.Along("ntrainer", m)
	if err != nil {
		t.Fatal(err)
	}
	warnings := strings.Join(c.Warnings, "\n")
	for _, want := range []string{
		"ntrainer=2: the sides trained on different amounts of data in all: old on 1,620 samples, new on 3,240",
		"ntrainer=4: the sides learn from different data: old left out nothing, new 30.9 % of the 81 samples (2 of 6 batches",
	} {
		if !strings.Contains(warnings, want) {
			t.Errorf("the warnings are\n%s\nwithout %s", warnings, want)
		}
	}
}
