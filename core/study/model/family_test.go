package study

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/internal/splitmix"
)

// drawn is a study whose cells have random values, losses, failures and shared experiments.
func drawn(t *rapid.T) *Study {
	axes := []Axis{{"server", []string{"a", "b", "c"}}, {"ntrainer", []string{"1", "2"}}, {"model", []string{"m", "n"}}}[:rapid.IntRange(1, 3).Draw(t, "axes")]
	noise := rapid.SampledFrom([]float64{0, 0.01, 0.05, 0.3}).Draw(t, "noise")
	runs := rapid.IntRange(1, 10).Draw(t, "runs")
	first := true
	s := made(axes, func(v []string) plot {
		p := plot{throughput: 1000 * rapid.SampledFrom([]float64{1, 1, 1.02, 1.3, 2}).Draw(t, "factor"), noise: noise, runs: runs}
		switch {
		case first:
		case rapid.IntRange(0, 5).Draw(t, "missing") == 0:
			p = plot{skipped: "a rule"}
		case rapid.IntRange(0, 5).Draw(t, "same") == 0:
			p = plot{same: strings.Join(append([]string{"a", "1", "m"}[:len(v):len(v)], v[len(v):]...), "/")}
		case rapid.IntRange(0, 5).Draw(t, "failed") == 0:
			p.failed = 3
		}
		if p.runs > 0 && rapid.IntRange(0, 2).Draw(t, "evaluated") == 0 {
			p.loss = rapid.SampledFrom([]float64{0.3, 0.6}).Draw(t, "loss")
		}
		first = false
		return p
	})
	s.InRounds = rapid.Bool().Draw(t, "rounds")
	return s
}

// answered are the texts of a label.
func answered(t interface{ Fatal(...any) }, s *Study, m Metric, label string) (texts []string) {
	answer, err := s.Sentences(m, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answer {
		if a.Label == label {
			texts = append(texts, a.Text)
		}
	}
	return texts
}

var sharesTold = regexp.MustCompile(`(\d+) %( of the variance| \(not proven\)|,|;|$)`)

// What one sentence says another one does not take back, and shares are the whole.
func TestSentencesAgree(t *testing.T) {
	m, _ := MetricOf(Throughput)
	rapid.Check(t, func(t *rapid.T) {
		s := drawn(t)
		matters := strings.Join(answered(t, s, m, "matters"), "")
		changes := answered(t, s, m, "changes")
		for _, text := range changes {
			axis := strings.Fields(text)[2]
			if strings.Contains(matters, "cannot tell") || regexp.MustCompile(axis+` \d+ % \(not proven\)`).MatchString(matters) {
				t.Fatalf("%q beside %q", text, matters)
			}
		}
		if strings.Contains(matters, "% of the variance") {
			sum := 0
			for _, share := range sharesTold.FindAllStringSubmatch(matters, -1) {
				n, err := strconv.Atoi(share[1])
				if err != nil {
					t.Fatal(err)
				}
				sum += n
			}
			if sum != 100 {
				t.Fatalf("the shares add up to %d: %s", sum, matters)
			}
		}
		if strings.HasPrefix(matters, "how the axes are combined") && !s.duels(m, nil).crossing() && len(s.contests(m)[0].barred) == 0 {
			t.Fatalf("%q, though no order of values is proven to change", matters)
		}
	})
}

// The row of a cell and the sentence ask for as many runs where they compare the same two cells.
func TestRowsAndSentencesAskForTheSame(t *testing.T) {
	check := func(t interface {
		Fatal(...any)
		Fatalf(string, ...any)
	}, s *Study, m Metric) {
		for _, o := range s.contests(m) {
			if o.best == nil {
				continue
			}
			at := slices.Index(s.Cells, o.best)
			rows := s.Judge(m).Against(at).Rows
			for _, r := range o.open() {
				row := rows[slices.Index(s.Cells, r.cell)]
				if !row.Compared || !row.Change.Proven() && row.Change.Needed != r.change.Needed {
					t.Fatalf("%s beside %s: the row asks for %d runs, the sentence for %d", r.cell.Name, o.best.Name, row.Change.Needed, r.change.Needed)
				}
				text := o.toTell(r)
				if needed := r.change.Needed; needed > judge.MostNeeded && !strings.Contains(text, "not within reach") && !strings.Contains(text, "equal") && !strings.Contains(text, "nothing is proven") ||
					regexp.MustCompile(`\b\d{4,}\b|\d,\d{3} runs`).MatchString(text) {
					t.Fatalf("%d runs are needed, but it says %s", needed, text)
				} else if told := regexp.MustCompile(`(?:some|takes) (\d+)`).FindStringSubmatch(text); told != nil && needed > 0 && told[1] != strconv.Itoa(needed) {
					t.Fatalf("%d runs are needed, but it says %s", needed, text)
				}
			}
		}
	}
	m, _ := MetricOf(Throughput)
	rapid.Check(t, func(t *rapid.T) { check(t, drawn(t), m) })
	comm, _ := MetricOf(CommTime)
	for _, results := range []int{1, 2, 4, 10} {
		check(t, ladderOf(t, results), comm)
	}
}

// Cells that share runs are compared once: whatever has them beside it, the others have the same p.
func TestSharedRunsCountOnce(t *testing.T) {
	m := throughput(t)
	study := func(values ...string) *Study {
		return made([]Axis{{"server", values}}, func(v []string) plot {
			if v[0] > "c" {
				return plot{same: "b"}
			}
			return plot{throughput: map[string]float64{"a": 1000, "b": 1005, "c": 1010}[v[0]], noise: 0.01, runs: 10}
		})
	}
	few, many := study("a", "b", "c"), study("a", "b", "c", "d", "e", "f")
	few.Again, many.Again = many.Again, few.Again
	few.Again = many.Again
	for i, row := range few.Verdicts(m).Rows {
		if p := many.Verdicts(m).Rows[i].Change.Adjusted; p != row.Change.Adjusted {
			t.Errorf("%s: p is %v, and %v with cells of shared runs", row.Cell.Name, row.Change.Adjusted, p)
		}
	}
	if a, b := few.duels(m, nil), many.duels(m, nil); len(a.changes) != len(b.changes) {
		t.Errorf("%d comparisons, and %d with cells of shared runs", len(a.changes), len(b.changes))
	}
	if a, b := few.contests(m)[0], many.contests(m)[0]; a.comparisons != b.comparisons {
		t.Errorf("%d comparisons, and %d with cells of shared runs", a.comparisons, b.comparisons)
	}
}

// Of cells that are all the same hardly any study says that how axes are combined matters.
func TestNothingIsCombined(t *testing.T) {
	m := throughput(t)
	axes := []Axis{{"server", []string{"a", "b"}}, {"ntrainer", []string{"1", "2"}}}
	combined := 0
	for seed := range uint64(300) {
		random := splitmix.New(seed, 0)
		s := made(axes, func([]string) plot { return plot{} })
		for _, c := range s.All() {
			p := plot{throughput: 1000, noise: 0.01, runs: 10}
			if c.Values[0] == "b" {
				p.throughput *= 1.008 // so that something is proven now and then
			}
			p.fill(c, random)
		}
		if strings.HasPrefix(s.matters(m, s.duels(m, nil)), "how the axes are combined") {
			combined++
		}
	}
	if combined > 0 {
		t.Errorf("in %d of 300 studies of cells without an interaction it matters most", combined)
	}
}

// What the axes together explain matters most only if an order is proven to turn round.
func TestCombinedMattersNeedsProof(t *testing.T) {
	m := throughput(t)
	s := made([]Axis{{"server", []string{"a", "b"}}, {"ntrainer", []string{"1", "2"}}}, func(v []string) plot {
		p := plot{throughput: 1000, noise: 0.01, runs: 10}
		if (v[0] == "a") == (v[1] == "1") {
			p.throughput = 1300
		}
		return p
	})
	d := s.duels(m, nil)
	if text := s.matters(m, d); !d.crossing() || !strings.HasPrefix(text, "how the axes are combined matters most") {
		t.Errorf("it says %q", text)
	}
	for at, c := range d.changes { // of what b and 2 do nothing is proven
		if !slices.Equal(at[0].Values, []string{"a", "1"}) && !slices.Equal(at[1].Values, []string{"a", "1"}) {
			c.Verdict = judge.CannotTell
			d.changes[at] = c
		}
	}
	if text := s.matters(m, d); d.crossing() || !strings.Contains(text, "is what is proven to matter most") || !strings.HasSuffix(text, "how they are combined, and noise, 100 %") {
		t.Errorf("without a proof it says %q", text)
	}
}

// The best of those that may win is proven to be best, though the first, which is barred, hides it in its noise.
func TestBestWithoutTheBarredMatters(t *testing.T) {
	m := throughput(t)
	s := made([]Axis{{"server", []string{"a", "b", "c"}}, {"ntrainer", []string{"1", "2"}}}, func(v []string) plot {
		p := plot{throughput: 1000, noise: 0.01, runs: 10, loss: 0.3}
		switch v[0] {
		case "a":
			p.noise, p.loss = 0.4, 0.6
		case "b":
			p.throughput = 1100
		}
		return p
	})
	s.Baseline, s.Again = 2, nil // b
	if text := strings.Join(answered(t, s, m, "changes"), ""); text != "the best server is b in 2 of 2 combinations of the other axes" {
		t.Errorf("it says %q", text)
	}
	if text := answered(t, s, m, "matters")[0]; !strings.HasPrefix(text, "server ") || strings.Contains(text, "server 100 % (not proven)") {
		t.Errorf("beside that it says %q", text)
	}
}

// What is beyond reach is said to be so wherever it is said.
func TestBeyondReach(t *testing.T) {
	m := throughput(t)
	s := speeds(map[string]float64{"average": 1000, "batch": 1000, "sum": 1000}, nil)
	for i, r := range s.Cells[1].Runs { // by a thousandth of the noise
		r.Values[Throughput] = s.Cells[0].Runs[i].Values[Throughput] * (1 + 0.00001*float64(i%2) + 0.03*float64(i%2*2-1))
		s.Again.Runs[i].Values[Throughput] = s.Cells[0].Runs[i].Values[Throughput]
	}
	row := s.Verdicts(m).Rows[1]
	if row.Change.Needed <= judge.MostNeeded {
		t.Fatalf("%d runs are needed", row.Change.Needed)
	}
	c, err := s.Along("server", m)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.rows()[0][7]; got != "not within reach" {
		t.Errorf("a comparison says %q", got)
	}
	if got := fmt.Sprint(answered(t, s, m, Throughput)); !strings.Contains(got, "a proof is not within reach") {
		t.Errorf("it says %q", got)
	}
	if got := needed(judge.RunsFor(1e-9, []float64{1, 1.1, 0.9}, 1, judge.Floor{})); got != "not within reach" {
		t.Errorf("psbench noise says %q", got)
	}
}
