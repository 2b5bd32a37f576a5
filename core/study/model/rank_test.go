package study

import (
	"math"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/study/judge"
)

// A cell that lacks runs of slow rounds does not lead for that: who leads, who is better and what matters agree.
func TestMissingRunsDoNotLead(t *testing.T) {
	s := made([]Axis{{"server", []string{"a", "b"}}}, func([]string) plot { return plot{throughput: 1000, runs: 10} })
	for i, c := range s.All() {
		for _, r := range c.Runs {
			noise := 1 + 0.0002*float64((3*r.Round+i)%5)
			r.Values[Throughput] = 1000 * math.Pow(0.98, float64(r.Round)) * noise * map[string]float64{"b": 1.005}[c.ID]
			if c.ID != "b" {
				r.Values[Throughput] = 1000 * math.Pow(0.98, float64(r.Round)) * noise
			}
		}
	}
	b := s.Cells[1]
	b.Runs = b.Runs[1:] // of the fastest round
	all := 1.0
	s.MostFailed = &all
	b.Failed = []Failure{{Reason: "killed"}}
	m := throughput(t)
	if of := judge.Of(b.Of(Throughput)).Median; of > judge.Of(s.Cells[0].Of(Throughput)).Median {
		t.Fatalf("the median of b, %v, is not the lower one", of)
	}
	row := s.Verdicts(m).Rows[1]
	o := s.contests(m)[0]
	if row.Change.Verdict != judge.Better || o.best != b || len(o.open()) > 0 {
		t.Errorf("b is %+v, and the best is %s", row.Change, o.best.Name)
	}
	if text := s.matters(m, s.duels(m, nil)); !strings.Contains(text, "from server a to b") {
		t.Error(text)
	}
}

// The row of a cell and the sentence of the winner are of one family: of the same two cells they say the same.
func TestRowsAndSentencesAreOneFamily(t *testing.T) {
	m := throughput(t)
	for name, speed := range map[string]map[string]float64{
		"the baseline leads": {"average": 1000, "batch": 985, "sum": 900},
		"another leads":      {"average": 1000, "batch": 1011, "sum": 1001},
	} {
		t.Run(name, func(t *testing.T) {
			s := speeds(speed, func(server string, p *plot) {
				if server == "sum" {
					p.failed = 5 // so that it does not compete
				}
			})
			o := s.contests(m)[0]
			rows := s.Verdicts(m).Rows
			for _, r := range o.rivals {
				for i, cell := range s.Cells {
					switch {
					case o.best == s.Cells[0] && r.cell == cell && rows[i].Change.Adjusted != r.change.Adjusted,
						r.cell == s.Cells[0] && o.best == cell && rows[i].Change != r.change:
						t.Errorf("the row says %+v, the sentence %+v", rows[i].Change, r.change)
					}
				}
			}
			if o.comparisons != 2 {
				t.Errorf("%d comparisons are one family", o.comparisons)
			}
		})
	}
}

// A run that failed before it was repeated has failed.
func TestRepeatedFailuresCount(t *testing.T) {
	s := speeds(map[string]float64{"average": 1000, "batch": 2000, "sum": 900}, nil)
	s.Cells[1].Repeated = 30
	m := throughput(t)
	o := s.contests(m)[0]
	if o.best != s.Cells[0] || s.Verdicts(m).Rows[1].Change.Proven() {
		t.Errorf("the best is %s", o.best.Name)
	}
	if got := s.Shorts(s.Cells[1], Throughput, s.Barred(m)); strings.Join(got, ", ") != "30 failed and repeated, barred" {
		t.Error(got)
	}
	if text := s.crashedText(s.contests(m)); text != "server=batch is barred: 30 of 40 of its runs failed, more than 10.0 %" {
		t.Error(text)
	}
}
