// Package modeltest makes studies for tests. The test chooses the values of each cell's runs.
package modeltest

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/splitmix"
)

// Wrote writes a result to a new folder and returns the folder's path.
func Wrote(t *testing.T, r folder.Result) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run")
	f, err := folder.Create(path)
	if err == nil {
		err = f.Write(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Throughput returns the metric model.Throughput.
func Throughput(t *testing.T) model.Metric {
	t.Helper()
	m, err := model.MetricOf(model.Throughput)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Plot describes the runs of a cell that Made creates.
type Plot struct {
	Throughput, Noise float64 // Noise is the relative standard deviation of uniform noise
	Loss              float64
	Runs              int
	Epochs            []float64 // AUC after each epoch; every epoch takes 2 s at a throughput of 1000
	Late              int       // number of first runs whose AUC stays at its value after the first epoch
	Skipped, Same     string
	Failed            int
	Silent            bool
	Iterations        int
}

// Made returns a study in rounds, with an A/A cell. It calls of to describe the cell at each point of the axes.
func Made(axes []model.Axis, of func(values []string) Plot) *model.Study {
	s := &model.Study{Name: "made", Axes: axes, Seed: 1, InRounds: true}
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
		c := &model.Cell{ID: strings.Join(values, "/"), Name: model.CellName(axes, values), Values: values,
			Skipped: p.Skipped, Same: p.Same}
		p.Fill(c, random)
		s.Cells = append(s.Cells, c)
	}
	b := s.Cells[0]
	s.Again = &model.Cell{ID: "again", Name: b.Name, Values: b.Values}
	of(b.Values).Fill(s.Again, random)
	return s
}

// Fill adds the runs and failures of p to a cell.
func (p Plot) Fill(c *model.Cell, random *splitmix.Stream) {
	noise := func() float64 { return 1 + p.Noise*math.Sqrt(12)*(float64(random.IntN(1001))/1000-0.5) }
	for round := range p.Runs {
		x := p.Throughput * noise()
		r := &model.Run{Folder: fmt.Sprintf("runs/%s/%d", c.ID, round), Round: round, Seed: uint64(round),
			Iterations: p.Iterations, Silent: p.Silent, Values: map[string]float64{
				model.Throughput: x, model.TimePerBatch: 20_000 / x, model.Compute: 60, model.Waiting: 10,
				model.Moving: 25,
			}}
		if p.Iterations >= 100 {
			r.Values[model.P99] = 30_000 / x
		}
		if p.Loss > 0 {
			r.Values[model.HeldOutLoss] = p.Loss * (1 + 0.001*float64(round))
		}
		for i, auc := range p.Epochs {
			if i > 0 && round < p.Late {
				auc = p.Epochs[0]
			}
			r.Epochs = append(r.Epochs, model.Epoch{Seconds: 2000 / x * float64(i+1), Bytes: 3e6 * float64(i+1),
				Values: map[string]float64{"held_out_auc": auc}})
		}
		c.Runs = append(c.Runs, r)
	}
	for round := range p.Failed {
		c.Failed = append(c.Failed, model.Failure{Folder: fmt.Sprintf("runs/%s/%d", c.ID, p.Runs+round),
			Round: p.Runs + round, Reason: "trainer1 died: it was killed"})
	}
}

// Servers is an axis of three servers.
var Servers = []model.Axis{{Name: "server", Values: []string{"average", "batch", "sum"}}}

// Speeds returns a study along Servers with ten runs of each cell. of gives the throughput of each server; change may
// alter a server's Plot.
func Speeds(of map[string]float64, change func(server string, p *Plot)) *model.Study {
	return Made(Servers, func(values []string) Plot {
		p := Plot{Throughput: of[values[0]], Noise: 0.01, Runs: 10, Iterations: 100}
		if change != nil {
			change(values[0], &p)
		}
		return p
	})
}
