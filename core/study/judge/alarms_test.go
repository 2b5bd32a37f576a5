package judge

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// shape is the size of a simulated sweep. Each shape is a column of a table in testdata/tables.txt.
type shape struct{ cells, rounds int }

var shapes = []shape{{1, 6}, {5, 6}, {20, 6}, {1, 10}, {5, 10}, {20, 10}}

// promised returns the highest accepted share of false alarms when no cell differs from another. For 10 rounds the
// limit is 5 % plus two standard deviations of the share in 5,000 studies.
func (s shape) promised() float64 {
	if s.rounds < 10 {
		return 0.08
	}
	return 0.056
}

// table is a table of testdata/tables.txt, with a row for each kind of simulated sweep and a column for each shape.
type table struct {
	title string
	head  string
	rows  []row
}

type row struct {
	name  string
	sweep sweep // its size comes from the column
}

// alarms returns the tables of false alarms. Their studies have no difference between cells.
func alarms() (tables []table) {
	for _, m := range machines {
		t := table{title: "Alarms " + m.name, head: "noise of a run"}
		for _, n := range noises {
			t.rows = append(t.rows, row{n.name, sweep{noise: n, machine: m}})
		}
		tables = append(tables, t)
	}
	each := table{title: "Alarms where each cell has a baseline of its own, and none an A/A cell, " + machines[1].name,
		head: "noise of a run"}
	for _, n := range noises {
		each.rows = append(each.rows, row{n.name, sweep{noise: n, machine: machines[1], each: true}})
	}
	folders := table{title: "Alarms of runs that were not made in rounds, as many of each side, " + machines[0].name,
		head: "noise of a run"}
	for _, n := range []noise{plain, rounded, outliers} {
		folders.rows = append(folders.rows, row{n.name, sweep{noise: n, machine: machines[0], each: true, apart: true}})
	}
	return append(tables, each, folders)
}

// finds returns the tables of found changes. One cell of each study is slower than the others.
func finds() (tables []table) {
	for _, of := range []struct {
		title string
		sweep sweep
	}{
		{"Found, with normal noise of 1 %, " + machines[0].name, sweep{noise: plain, machine: machines[0]}},
		{"Found, with normal noise of 1 %, " + machines[1].name, sweep{noise: plain, machine: machines[1]}},
		{"Found, with normal noise of 1 %, " + machines[2].name, sweep{noise: plain, machine: machines[2]}},
		{"Found, with a tenth of runs slowed by exp(10 %)", sweep{noise: outliers, machine: machines[0]}},
		{"Found, with normal noise of 1 %, where each cell has a baseline of its own",
			sweep{noise: plain, machine: machines[0], each: true}},
		{"Found, with normal noise of 1 %, of runs that were not made in rounds",
			sweep{noise: plain, machine: machines[0], each: true, apart: true}},
	} {
		t := table{title: of.title, head: "a cell is slower by"}
		for _, percent := range []float64{1, 2, 5, 10} {
			of.sweep.change = -percent / 100
			t.rows = append(t.rows, row{fmt.Sprintf("%v %%", percent), of.sweep})
		}
		tables = append(tables, t)
	}
	return tables
}

// shares returns, for each row and shape, the share of studies in which answers is true.
func (t table) shares(studies int, seed uint64) [][]float64 {
	out := make([][]float64, len(t.rows))
	var work sync.WaitGroup
	var next atomic.Int64
	for i := range out {
		out[i] = make([]float64, len(shapes))
	}
	for range runtime.GOMAXPROCS(0) {
		work.Go(func() {
			for {
				k := int(next.Add(1)) - 1
				if k >= len(t.rows)*len(shapes) {
					return
				}
				i, j := k/len(shapes), k%len(shapes)
				s, random := t.rows[i].sweep, rand.New(rand.NewPCG(seed, uint64(k))) // #nosec G404 G115 -- a simulation
				s.cells, s.rounds = shapes[j].cells, shapes[j].rounds
				out[i][j] = shareOf(studies, func() bool { return s.answers(random) })
			}
		})
	}
	work.Wait()
	return out
}

// answers reports whether the sweep proves the planted change. Without a planted change it reports whether the sweep
// proves any change.
func (s sweep) answers(random *rand.Rand) bool {
	changes := s.judged(random)
	if s.change != 0 {
		return changes[len(changes)-1].Verdict == Worse
	}
	return anyProven(changes)
}

func anyProven(changes []Change) bool { return slices.ContainsFunc(changes, Change.Proven) }

// If no cell differs, a study raises a false alarm no more often than promised. testdata/tables.txt has the same shares
// from 5,000 studies.
func TestAlarms(t *testing.T) {
	studies := fewer(250, 20)
	for i, table := range alarms() {
		for k, shares := range table.shares(studies, uint64(i)) {
			for from := 0; from < len(shapes); from += 3 { // three shapes with the same number of rounds
				if exempt(table.title, table.rows[k].name) {
					continue
				}
				share, may := (shares[from]+shares[from+1]+shares[from+2])/3, shapes[from].promised()
				if limit := may + 3*math.Sqrt(may/float64(3*studies)); share > limit {
					t.Errorf("%s: %s: %d rounds: an alarm in %.1f %%, which is more than %.1f %%", table.title,
						table.rows[k].name, shapes[from].rounds, 100*share, 100*limit)
				}
			}
		}
	}
}

// Studies find a change in one cell at least as often as promised.
func TestPlanted(t *testing.T) {
	studies := fewer(200, 30)
	promised := map[string][]float64{ // one value for each shape
		"2 %":  {0.6, 0.25, 0.1, 0.95, 0.85, 0.65},
		"5 %":  {0.95, 0.9, 0.75, 0.99, 0.99, 0.99},
		"10 %": {0.99, 0.99, 0.95, 0.99, 0.99, 0.99},
	}
	for i, table := range finds()[:3] {
		for k, shares := range table.shares(studies, uint64(i)) {
			for j, found := range promised[table.rows[k].name] {
				if limit := found - 3*math.Sqrt(found*(1-found)/float64(studies)); shares[j] < limit {
					t.Errorf("%s: %s: %+v: found in %.1f %%, which is less than %.1f %%", table.title,
						table.rows[k].name, shapes[j], 100*shares[j], 100*limit)
				}
			}
		}
	}
}

// recorded holds the throughput of 400 runs of one experiment. testdata/record describes how the runs were made.
//
//go:embed testdata/runs.csv
var recorded string

// The test assigns 400 recorded runs at random to 20 cells in 10 rounds. All runs are of one experiment, so at most 10
// of 100 such studies may raise an alarm.
func TestRelabeledRuns(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(recorded)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var values []float64
	for _, row := range rows[1:] {
		v, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	for i, s := range []sweep{{cells: 20, rounds: 10}, {cells: 20, rounds: 10, each: true}} {
		random := rand.New(rand.NewPCG(uint64(i), 19))
		found, uncorrected := 0, 0
		for range 100 {
			random.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
			next := 0
			s.noise.baseline = func(*rand.Rand) float64 { next++; return values[next-1] }
			changes := s.judged(random)
			if anyProven(changes) {
				found++
			}
			if slices.ContainsFunc(changes, func(c Change) bool { return c.P < Alpha }) {
				uncorrected++
			}
		}
		t.Logf("%d cells, each with its baseline: %v: an alarm in %d of 100 relabelings of %d recorded runs; p alone has one in %d",
			s.cells, s.each, found, len(values), uncorrected)
		if found > 10 || uncorrected < 40 {
			t.Error("more than 10 are too many, and so many tests would have one in most without a correction")
		}
	}
}
