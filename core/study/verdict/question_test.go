package verdict

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
)

// A proven loss is an error, even if other cells are undecided. If cells are only undecided, the error is an
// UndecidedError.
func TestFailAbove(t *testing.T) {
	metric, err := model.MetricOf(model.Throughput)
	if err != nil {
		t.Fatal(err)
	}
	row := func(name string, verdict judge.Verdict, change, low float64) CellChange {
		return CellChange{Name: name, Change: judge.Change{Change: change, Low: low, Verdict: verdict}}
	}
	worse, better := row("bad", judge.Worse, -0.2, -0.3), row("good", judge.Better, 0.2, 0.1)
	for name, c := range map[string]struct {
		rows []CellChange
		lost []string
		want string
		open bool
	}{
		"better": {rows: []CellChange{better}},
		"worse":  {[]CellChange{worse, better}, []string{"gone"}, "throughput is proven worse by more than 5% in 1 of 3: bad", false},
		"open":   {[]CellChange{better}, []string{"gone"}, "the runs cannot tell whether throughput is worse by more than 5% in 1 of 2: gone", true},
	} {
		t.Run(name, func(t *testing.T) {
			err := (&Comparison{Metric: metric, Rows: c.rows, Lost: c.lost}).FailAbove(0.05, "5%")
			said := ""
			if err != nil {
				said = err.Error()
			}
			if open := errors.As(err, new(UndecidedError)); said != c.want || open != c.open {
				t.Errorf("the error is %q, undecided %v; want %q, %v", said, open, c.want, c.open)
			}
		})
	}
}

// A file of psbench noise takes precedence over the share that the user gives.
func TestNoiseFileWins(t *testing.T) {
	run := func(value float64) []map[string]float64 { return []map[string]float64{{model.Throughput: value}} }
	n := &Noise{Schema: NoiseSchema, Sessions: []Session{{Runs: run(100)}, {Runs: run(120)}}}
	path := NoiseFile([]string{"HOME=" + t.TempDir()})
	q := Question{SessionNoise: 0.05, NoiseFile: path}
	if apart, err := q.apart(model.Throughput); err != nil || apart.Floor.Change != 0.05 {
		t.Errorf("without the file the floor is %+v, %v", apart, err)
	}
	if err := n.Keep(path); err != nil {
		t.Fatal(err)
	}
	want, err := n.Between(model.Throughput)
	if err != nil {
		t.Fatal(err)
	}
	if apart, err := q.apart(model.Throughput); err != nil || apart.Floor != want {
		t.Errorf("with the file the floor is %+v, %v, want %+v", apart, err, want)
	}
	q.NoiseFile = ""
	if apart, err := q.apart(model.Throughput); err != nil || apart.Floor.Change != 0.05 {
		t.Errorf("where the file is ignored the floor is %+v, %v", apart, err)
	}
	q.NoiseFile = filepath.Join(t.TempDir(), NoiseName)
	if err := os.WriteFile(q.NoiseFile, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := q.apart(model.Throughput); err == nil {
		t.Error("a broken file is believed")
	}
}
