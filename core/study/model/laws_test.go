package study

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/internal/screen"
	"github.com/psbench/psbench/internal/splitmix"
)

// Whatever a study has, it can be shown, every run is counted, and the same is said of it again.
func TestEveryStudyCanBeShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]float64{0, 1, 1, 2, 2.5, 1e-9, 1e300, -3, math.NaN(), math.Inf(1)})
		axes := []Axis{{"server", []string{"a", "b"}}, {"model", []string{"m", "n"}}}[:rapid.IntRange(0, 2).Draw(t, "axes")]
		done, failed := 0, 0
		s := made(axes, func([]string) plot { return plot{} })
		for _, c := range append(s.Cells, s.Again) {
			for round := range rapid.IntRange(0, 8).Draw(t, "runs") {
				r := &Run{Round: round, Values: map[string]float64{}}
				for _, m := range []string{Throughput, TimePerBatch, HeldOutLoss, P99, Compute, Moving} {
					if rapid.Bool().Draw(t, m) {
						r.Values[m] = value.Draw(t, m)
					}
				}
				for range rapid.IntRange(0, 2).Draw(t, "epochs") {
					r.Epochs = append(r.Epochs, Epoch{value.Draw(t, "seconds"), 1e6, map[string]float64{"held_out_auc": value.Draw(t, "auc")}})
				}
				c.Runs = append(c.Runs, r)
				done++
			}
			for range rapid.IntRange(0, 2).Draw(t, "failures") {
				c.Failed = append(c.Failed, Failure{Reason: "why"})
				failed++
			}
		}
		s.InRounds = rapid.Bool().Draw(t, "rounds")
		s.Baseline = rapid.IntRange(0, len(s.Cells)-1).Draw(t, "baseline")
		show := func() string {
			var out bytes.Buffer
			if err := s.Text(&out, TextOptions{Target: "auc=1", Width: 80}); err != nil {
				t.Fatal(err)
			}
			return out.String()
		}
		text := show()
		if again := show(); again != text {
			t.Fatalf("it says\n%s\nand then\n%s", text, again)
		}
		want := fmt.Sprintf("%s done", screen.Count(done, "run"))
		if failed > 0 {
			want += fmt.Sprintf(", %d failed", failed)
		}
		if words := strings.Join(strings.Fields(text), " "); !strings.Contains(words, want) {
			t.Fatalf("%q is not in\n%s", want, text)
		}
	})
}

// Of cells that are all the same, hardly any study has a winner; of one that is twice as fast as its noise
// can hide, every study has it.
func TestWinners(t *testing.T) {
	m, _ := MetricOf(Throughput)
	winners := func(faster float64) (wins int) {
		for seed := range uint64(100) {
			random := splitmix.New(seed, 0)
			s := made(servers, func([]string) plot { return plot{} })
			for _, c := range append(s.Cells, s.Again) {
				p := plot{throughput: 1000, noise: 0.02, runs: 10}
				if c.ID == "batch" {
					p.throughput *= faster
				}
				p.fill(c, random)
			}
			if o := s.contests(m)[0]; len(o.open()) == 0 {
				wins++
			}
		}
		return wins
	}
	if n := winners(1); n > 5 {
		t.Errorf("of 100 studies of equal cells %d have a winner", n)
	}
	if n := winners(1.1); n != 100 {
		t.Errorf("of 100 studies with a cell that is 10 %% faster %d have a winner", n)
	}
}

// Of cells that are all the same, hardly any study has an axis that matters, however many values it has.
func TestNothingMatters(t *testing.T) {
	m, _ := MetricOf(Throughput)
	matter := 0
	for seed := range uint64(400) {
		random := splitmix.New(seed, 0)
		s := made([]Axis{{"server", strings.Split("abcdefghij", "")}}, func([]string) plot { return plot{} })
		for _, c := range append(s.Cells, s.Again) {
			plot{throughput: 1000, noise: 0.01, runs: 10}.fill(c, random)
		}
		if s.duels(m, nil).differing()[0] {
			matter++
		}
	}
	if matter > 22 {
		t.Errorf("in %d of 400 studies of equal cells the axis matters", matter)
	}
}

// The shares of axes are those that were put in, whether or not cells are missing.
func TestEffects(t *testing.T) {
	axes := []Axis{{"server", []string{"a", "b", "c"}}, {"ntrainer", []string{"1", "2", "4"}}}
	factor := map[string]float64{"a": 1, "b": 1.1, "c": 1.2, "1": 1, "2": 2, "4": 4}
	for _, missing := range []string{"", "a/4 b/4", "a/2 a/4 b/4 c/1"} {
		s := made(axes, func(v []string) plot {
			if strings.Contains(missing, strings.Join(v, "/")) {
				return plot{skipped: "a rule"}
			}
			return plot{throughput: 100 * factor[v[0]] * factor[v[1]], runs: 6}
		})
		e := s.effects(throughput(t))
		if len(e.axes) != 2 || math.Abs(e.combined) > 1e-9 {
			t.Fatalf("without %q: %+v", missing, e)
		}
		trainers, servers := e.axes[0], e.axes[1]
		if trainers.axis != 1 || math.Abs(trainers.change-3) > 1e-6 || math.Abs(servers.change-0.2) > 1e-6 || math.Abs(trainers.share+servers.share-1) > 1e-9 {
			t.Errorf("without %q: %+v", missing, e)
		}
	}
}

// Cells compete along the axes that change how the same is computed, and along no others.
func TestWork(t *testing.T) {
	for axis, want := range map[string]bool{
		"server": false, "ntrainer": false, "batch_size": false, "build": false, "model.blas": false, "model.engine": false, "server+ddp_hook": false,
		"model": true, "data.sample_count": true, "model.embedding_dim": true, "server+model": true, "operation+bytes": true,
	} {
		if isWork(axis) != want {
			t.Errorf("along %s there is other work: %v", axis, !want)
		}
	}
}

// A run that did not reach the target is counted, and takes longer than all that did.
func TestTargets(t *testing.T) {
	for text, want := range map[string]string{
		"auc": "must have a number", "auc=": "must have a number", "auc=NaN": "must have a number", "speed=3": "must be auc, accuracy or held_out_loss", "=3": "must be auc",
	} {
		if _, err := targetOf(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("target %q: %v, want %q", text, err, want)
		}
	}
	for _, test := range []struct {
		seconds []float64
		want    float64
	}{
		{nil, math.Inf(1)}, {[]float64{1}, 1}, {[]float64{1, math.Inf(1)}, math.Inf(1)}, {[]float64{1, 3, math.Inf(1)}, 3}, {[]float64{1, 2, 4, math.Inf(1)}, 3},
	} {
		if got := middle(test.seconds); got != test.want {
			t.Errorf("the median of %v is %v, want %v", test.seconds, got, test.want)
		}
	}
	goal, err := targetOf("loss=0.3")
	if err != nil {
		t.Fatal(err)
	}
	r := &Run{}
	for i, v := range []float64{math.NaN(), 0.4, 0.3, 0.2} {
		r.Epochs = append(r.Epochs, Epoch{Seconds: float64(i), Values: map[string]float64{HeldOutLoss: v}})
	}
	if e, ok := goal.reached(r); !ok || e.Seconds != 2 {
		t.Errorf("it is reached in epoch %v, %v", e, ok)
	}
}
