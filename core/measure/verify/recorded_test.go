package verify

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/record/result"
)

// recordedCase returns the case of a run with one server and one trainer, which has 2 iterations.
func recordedCase() *Recorded {
	p := Parameter{DeltaSum: 1, DeltaSumSq: 2, DeltaHead: []float64{1}, Head: []float64{3}}
	return &Recorded{
		Header: Header{Name: "mine", Kind: "recorded", Seed: 3, Trainer: "ddp", NTrainer: 1, NServer: 1,
			Tolerance: recordedTolerance},
		Config: map[string]any{"server": "median",
			"set": map[string]any{"model": map[string]any{"sizes": []any{json.Number("2"), json.Number("3")}}}},
		Expect: []RecordedRank{{Rank: 0, Loss: []float64{0.1, math.Nextafter(0.1, 1)}, Params: []Parameter{p}},
			{Rank: 1, Params: []Parameter{p}}},
	}
}

// runOf returns the run that recordedCase describes.
func runOf() (*config.Experiment, *result.Result) {
	summary := func() []result.ParameterSummary {
		return []result.ParameterSummary{{Name: "weight", Elements: 9, DeltaSum: 1, DeltaSumSq: 2,
			DeltaHead: []float64{1}, Head: []float64{3}}}
	}
	e := &config.Experiment{}
	for key, value := range map[string]any{
		"trainer": "ddp", "ntrainer": 1, "nserver": 1, "torch_seed": uint64(3), "server": "median",
		"model.sizes": []any{2.0, 3.0}, "transport": "tcp", "registry": "/home/me/mine.json", "json": "out.json",
	} {
		e.Values = append(e.Values, result.Value{Key: key, Value: value, Origin: "--" + key})
	}
	return e, &result.Result{
		Losses:           [][]float64{{0.1, math.Nextafter(0.1, 1)}},
		Parameters:       [][]result.ParameterSummary{summary()},
		ServerParameters: [][]result.ParameterSummary{summary()},
	}
}

// A recorded case reads back bit by bit, but without the place where it ran.
func TestARecordedCaseIsReadBack(t *testing.T) {
	e, r := runOf()
	c, err := recorded("mine", e, r)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	read, err := parse("mine.json", raw)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Case(recordedCase()), read); d != "" {
		t.Error(d)
	}
	if o := Compare(read, r); len(o.Failures) > 0 {
		t.Error(o.Failures)
	}
	r.ServerParameters[0][0].Head[0]++
	if o := Compare(read, r); len(o.Failures) != 1 || o.Failures[0].Process != "server1" {
		t.Errorf("a server that computes something else gave %v", o.Failures)
	}
	if got := read.Layer().Values["torch_seed"]; got != uint64(3) {
		t.Errorf("its seed is %v", got)
	}
}

func TestARunThatIsNoCase(t *testing.T) {
	e, r := runOf()
	r.Losses[0][1] = math.NaN()
	if _, err := recorded("mine", e, r); err == nil ||
		!strings.Contains(err.Error(), "trainer0 has the loss NaN in iteration 1") {
		t.Errorf("got %v", err)
	}
	for want, change := range map[string]func(*Recorded){
		"expect has rank 5 at place 1":                func(c *Recorded) { c.Expect[1].Rank = 5 },
		"rank 1 has 1 losses":                         func(c *Recorded) { c.Expect[1].Loss = []float64{1} },
		"rank 0 has 0 losses":                         func(c *Recorded) { c.Expect[0].Loss = nil },
		"expect has 0 ranks":                          func(c *Recorded) { c.Expect = nil },
		"expect has 2 ranks, 1 of them with losses, ": func(c *Recorded) { c.NServer = 0 },
	} {
		t.Run(want, func(t *testing.T) {
			c := recordedCase()
			change(c)
			if err := c.check("mine.json"); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}
