package words

import (
	"math"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/model/modeltest"
	"github.com/psbench/psbench/core/study/verdict"
)

// A cell does not become the leader because it lacks runs of slow rounds. The sentences about the leader, the better
// cell and the effect agree.
func TestMissingRunsDoNotLead(t *testing.T) {
	s := modeltest.Made([]model.Axis{{Name: "server", Values: []string{"a", "b"}}},
		func([]string) modeltest.Plot { return modeltest.Plot{Throughput: 1000, Runs: 10} })
	for i, c := range s.All() {
		for _, r := range c.Runs {
			noise := 1 + 0.0002*float64((3*r.Round+i)%5)
			r.Values[model.Throughput] = 1000 * math.Pow(0.98,
				float64(r.Round)) * noise * map[string]float64{"b": 1.005}[c.ID]
			if c.ID != "b" {
				r.Values[model.Throughput] = 1000 * math.Pow(0.98, float64(r.Round)) * noise
			}
		}
	}
	b := s.Cells[1]
	b.Runs = b.Runs[1:] // without the fastest round
	all := 1.0
	s.MostFailed = &all
	b.Failed = []model.Failure{{Reason: "killed"}}
	m := modeltest.Throughput(t)
	if of := judge.Of(b.Of(model.Throughput)).Median; of > judge.Of(s.Cells[0].Of(model.Throughput)).Median {
		t.Fatalf("the median of b, %v, is not the lower one", of)
	}
	row := verdict.TableOf(s, m).Rows[1]
	o := verdict.Contests(s, m)[0]
	if row.Change.Verdict != judge.Better || o.Best != b || len(o.Open()) > 0 {
		t.Errorf("b is %+v, and the best is %s", row.Change, o.Best.Name)
	}
	if text, _ := matters(s, m, verdict.DuelsOf(s, m, nil)); !strings.Contains(text, "from server a to b") {
		t.Error(text)
	}
}

// A cell's row and the sentence about the winner apply the same correction for multiple comparisons. They therefore
// agree on the same two cells.
func TestRowsAndSentencesAreOneFamily(t *testing.T) {
	m := modeltest.Throughput(t)
	for name, speed := range map[string]map[string]float64{
		"the baseline leads": {"average": 1000, "batch": 985, "sum": 900},
		"another leads":      {"average": 1000, "batch": 1011, "sum": 1001},
	} {
		t.Run(name, func(t *testing.T) {
			s := modeltest.Speeds(speed, func(server string, p *modeltest.Plot) {
				if server == "sum" {
					p.Failed = 5 // so that the cell does not compete
				}
			})
			o := verdict.Contests(s, m)[0]
			rows := verdict.TableOf(s, m).Rows
			for _, r := range o.Rivals {
				for i, cell := range s.Cells {
					switch {
					case o.Best == s.Cells[0] && r.Cell == cell && rows[i].Change.Adjusted != r.Change.Adjusted,
						r.Cell == s.Cells[0] && o.Best == cell && rows[i].Change != r.Change:
						t.Errorf("the row says %+v, the sentence %+v", rows[i].Change, r.Change)
					}
				}
			}
			if o.Comparisons != 2 {
				t.Errorf("%d comparisons are one family", o.Comparisons)
			}
		})
	}
}

// A failed run counts as failed even after a successful repetition.
func TestRepeatedFailuresCount(t *testing.T) {
	s := modeltest.Speeds(map[string]float64{"average": 1000, "batch": 2000, "sum": 900}, nil)
	s.Cells[1].Repeated = 30
	m := modeltest.Throughput(t)
	o := verdict.Contests(s, m)[0]
	if o.Best != s.Cells[0] || verdict.TableOf(s, m).Rows[1].Change.Proven() {
		t.Errorf("the best is %s", o.Best.Name)
	}
	if got := verdict.Shorts(s, s.Cells[1], model.Throughput, verdict.Barred(s, m)); strings.Join(got,
		", ") != "30 failed and repeated, excluded" {
		t.Error(got)
	}
	if text := crashedText(s,
		verdict.Contests(s, m)); text != "server=batch is excluded: 30 of 40 of its runs failed, more than 10.0 %" {
		t.Error(text)
	}
}
