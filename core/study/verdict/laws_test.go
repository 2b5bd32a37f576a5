package verdict

import (
	"math"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/model/modeltest"
	"github.com/psbench/psbench/internal/splitmix"
)

// If all cells are equal, hardly any study has a winner. If one cell is 10 % faster and the noise is 2 %, every study
// finds this winner.
func TestWinners(t *testing.T) {
	m, _ := model.MetricOf(model.Throughput)
	winners := func(faster float64) (wins int) {
		for seed := range uint64(100) {
			random := splitmix.New(seed, 0)
			s := modeltest.Made(modeltest.Servers, func([]string) modeltest.Plot { return modeltest.Plot{} })
			for _, c := range append(s.Cells, s.Again) {
				p := modeltest.Plot{Throughput: 1000, Noise: 0.02, Runs: 10}
				if c.ID == "batch" {
					p.Throughput *= faster
				}
				p.Fill(c, random)
			}
			if o := Contests(s, m)[0]; len(o.Open()) == 0 {
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

// If all cells are equal, hardly any study reports an axis that matters, even if an axis has many values.
func TestNothingMatters(t *testing.T) {
	m, _ := model.MetricOf(model.Throughput)
	matter := 0
	for seed := range uint64(400) {
		random := splitmix.New(seed, 0)
		s := modeltest.Made([]model.Axis{{Name: "server", Values: strings.Split("abcdefghij", "")}},
			func([]string) modeltest.Plot { return modeltest.Plot{} })
		for _, c := range append(s.Cells, s.Again) {
			modeltest.Plot{Throughput: 1000, Noise: 0.01, Runs: 10}.Fill(c, random)
		}
		if DuelsOf(s, m, nil).Differing()[0] {
			matter++
		}
	}
	if matter > 22 {
		t.Errorf("in %d of 400 studies of equal cells the axis matters", matter)
	}
}

// The measured shares of the axes equal the planted shares, with and without missing cells.
func TestEffects(t *testing.T) {
	axes := []model.Axis{{Name: "server", Values: []string{"a", "b", "c"}},
		{Name: "ntrainer", Values: []string{"1", "2", "4"}}}
	factor := map[string]float64{"a": 1, "b": 1.1, "c": 1.2, "1": 1, "2": 2, "4": 4}
	for _, missing := range []string{"", "a/4 b/4", "a/2 a/4 b/4 c/1"} {
		t.Run(missing, func(t *testing.T) {
			s := modeltest.Made(axes, func(v []string) modeltest.Plot {
				if strings.Contains(missing, strings.Join(v, "/")) {
					return modeltest.Plot{Skipped: "a rule"}
				}
				return modeltest.Plot{Throughput: 100 * factor[v[0]] * factor[v[1]], Runs: 6}
			})
			e := EffectsOf(s, modeltest.Throughput(t))
			if len(e.Axes) != 2 || math.Abs(e.Combined) > 1e-9 {
				t.Fatalf("without %q: %+v", missing, e)
			}
			trainers, servers := e.Axes[0], e.Axes[1]
			if trainers.Axis != 1 || math.Abs(trainers.Change-3) > 1e-6 || math.Abs(servers.Change-0.2) > 1e-6 ||
				math.Abs(trainers.Share+servers.Share-1) > 1e-9 {
				t.Errorf("without %q: %+v", missing, e)
			}
		})
	}
}

// Cells compete only if they compute the same work in different ways.
func TestWork(t *testing.T) {
	for axis, want := range map[string]bool{
		"server": false, "ntrainer": false, "batch_size": false, "build": false, "model.blas": false,
		"model.engine": false, "server+ddp_hook": false,
		"model": true, "data.sample_count": true, "model.embedding_dim": true, "server+model": true,
		"operation+bytes": true,
	} {
		t.Run(axis, func(t *testing.T) {
			if IsWork(axis) != want {
				t.Errorf("along %s there is other work: %v", axis, !want)
			}
		})
	}
}
