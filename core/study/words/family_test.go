package words

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/model/modeltest"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/internal/splitmix"
)

// drawn returns a study with random values, losses, failures and shared experiments in its cells.
func drawn(t *rapid.T) *model.Study {
	axes := []model.Axis{{Name: "server", Values: []string{"a", "b", "c"}},
		{Name: "ntrainer", Values: []string{"1", "2"}},
		{Name: "model", Values: []string{"m", "n"}}}[:rapid.IntRange(1, 3).Draw(t, "axes")]
	noise := rapid.SampledFrom([]float64{0, 0.01, 0.05, 0.3}).Draw(t, "noise")
	runs := rapid.IntRange(1, 10).Draw(t, "runs")
	first := true
	s := modeltest.Made(axes, func(v []string) modeltest.Plot {
		p := modeltest.Plot{Throughput: 1000 * rapid.SampledFrom([]float64{1, 1, 1.02, 1.3, 2}).Draw(t, "factor"),
			Noise: noise, Runs: runs}
		switch {
		case first:
		case rapid.IntRange(0, 5).Draw(t, "missing") == 0:
			p = modeltest.Plot{Skipped: "a rule"}
		case rapid.IntRange(0, 5).Draw(t, "same") == 0:
			p = modeltest.Plot{Same: strings.Join(append([]string{"a", "1", "m"}[:len(v):len(v)], v[len(v):]...), "/")}
		case rapid.IntRange(0, 5).Draw(t, "failed") == 0:
			p.Failed = 3
		}
		if p.Runs > 0 && rapid.IntRange(0, 2).Draw(t, "evaluated") == 0 {
			p.Loss = rapid.SampledFrom([]float64{0.3, 0.6}).Draw(t, "loss")
		}
		first = false
		return p
	})
	s.InRounds = rapid.Bool().Draw(t, "rounds")
	return s
}

// The summary has no labels for these answers, so the test finds each answer by its text.
var summarised = map[string]*regexp.Regexp{
	"changes": regexp.MustCompile("^the best "),
	"matters": regexp.MustCompile("% of the variance|which axis matters"),
	"best":    regexp.MustCompile(" wins|which cell is best"),
}

// answered returns the texts with the given label, and the summary's texts about the same subject.
func answered(t interface{ Fatal(...any) }, s *model.Study, m model.Metric, label string) (texts []string) {
	answer, err := Sentences(s, m, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answer {
		subject := summarised[label]
		if a.Label == label || subject != nil && strings.HasSuffix(a.Label, "proven") && subject.MatchString(a.Text) {
			texts = append(texts, a.Text)
		}
	}
	return texts
}

var sharesTold = regexp.MustCompile(`(\d+) %( of the variance| \(not proven\)|,|;|$)`)

// No sentence contradicts another sentence, and shares add up to 100 %.
func TestSentencesAgree(t *testing.T) {
	m, _ := model.MetricOf(model.Throughput)
	rapid.Check(t, func(t *rapid.T) {
		s := drawn(t)
		matters := strings.Join(answered(t, s, m, "matters"), "")
		changes := answered(t, s, m, "changes")
		for _, text := range changes {
			axis := strings.Fields(text)[2]
			if strings.Contains(matters, "which axis matters") ||
				regexp.MustCompile(axis+` \d+ % \(not proven\)`).MatchString(matters) {
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
		if strings.HasPrefix(matters, "the combination of axes") && !verdict.DuelsOf(s, m, nil).Crossing() &&
			len(verdict.Contests(s, m)[0].Barred) == 0 {
			t.Fatalf("%q, though no order of values is proven to change", matters)
		}
	})
}

// If a cell's row and the sentence compare the same two cells, they ask for the same number of runs.
func TestRowsAndSentencesAskForTheSame(t *testing.T) {
	check := func(t interface {
		Fatal(...any)
		Fatalf(string, ...any)
	}, s *model.Study, m model.Metric) {
		for _, o := range verdict.Contests(s, m) {
			if o.Best == nil {
				continue
			}
			at := slices.Index(s.Cells, o.Best)
			rows := verdict.NewJudge(s, m).Against(at).Rows
			for _, r := range o.Open() {
				row := rows[slices.Index(s.Cells, r.Cell)]
				if !row.Compared || !row.Change.Proven() && row.Change.Needed != r.Change.Needed {
					t.Fatalf("%s beside %s: the row asks for %d runs, the sentence for %d", r.Cell.Name, o.Best.Name,
						row.Change.Needed, r.Change.Needed)
				}
				text := toTell(o, r)
				if needed := r.Change.Needed; needed > judge.MostNeeded &&
					!strings.Contains(text, "not within reach") && !strings.Contains(text, "equal") &&
					!strings.Contains(text, "nothing is proven") ||
					regexp.MustCompile(`\b\d{4,}\b|\d,\d{3} runs`).MatchString(text) {
					t.Fatalf("%d runs are needed, but it says %s", needed, text)
				} else if told := regexp.MustCompile(`(?:some|takes) (\d+)`).FindStringSubmatch(text); told != nil &&
					needed > 0 && told[1] != strconv.Itoa(needed) {
					t.Fatalf("%d runs are needed, but it says %s", needed, text)
				}
			}
		}
	}
	m, _ := model.MetricOf(model.Throughput)
	rapid.Check(t, func(t *rapid.T) { check(t, drawn(t), m) })
	comm, _ := model.MetricOf(model.CommTime)
	for _, results := range []int{1, 2, 4, 10} {
		t.Run(fmt.Sprint(results), func(t *testing.T) {
			check(t, ladderOf(t, results), comm)
		})
	}
}

// If all cells are equal, hardly any study reports that the combination of axes matters.
func TestNothingIsCombined(t *testing.T) {
	m := modeltest.Throughput(t)
	axes := []model.Axis{{Name: "server", Values: []string{"a", "b"}}, {Name: "ntrainer", Values: []string{"1", "2"}}}
	combined := 0
	for seed := range uint64(300) {
		random := splitmix.New(seed, 0)
		s := modeltest.Made(axes, func([]string) modeltest.Plot { return modeltest.Plot{} })
		for _, c := range s.All() {
			p := modeltest.Plot{Throughput: 1000, Noise: 0.01, Runs: 10}
			if c.Values[0] == "b" {
				p.Throughput *= 1.008 // so that some studies prove something
			}
			p.Fill(c, random)
		}
		if text, _ := matters(s, m, verdict.DuelsOf(s, m, nil)); strings.HasPrefix(text, "the combination of axes") {
			combined++
		}
	}
	if combined > 0 {
		t.Errorf("in %d of 300 studies of cells without an interaction it matters most", combined)
	}
}

// The text names the combination of axes as most important only if opposite effects of an axis are proven.
func TestCombinedMattersNeedsProof(t *testing.T) {
	m := modeltest.Throughput(t)
	s := modeltest.Made([]model.Axis{{Name: "server", Values: []string{"a", "b"}},
		{Name: "ntrainer", Values: []string{"1", "2"}}}, func(v []string) modeltest.Plot {
		p := modeltest.Plot{Throughput: 1000, Noise: 0.01, Runs: 10}
		if (v[0] == "a") == (v[1] == "1") {
			p.Throughput = 1300
		}
		return p
	})
	d := verdict.DuelsOf(s, m, nil)
	text, _ := matters(s, m, d)
	if !d.Crossing() || !strings.HasPrefix(text, "the combination of axes matters most") {
		t.Errorf("it says %q", text)
	}
	for at, c := range d.Changes { // nothing is proven about b and 2
		if !slices.Equal(at[0].Values, []string{"a", "1"}) && !slices.Equal(at[1].Values, []string{"a", "1"}) {
			c.Verdict = judge.CannotTell
			d.Changes[at] = c
		}
	}
	if text, _ := matters(s, m, d); d.Crossing() || !strings.Contains(text, "is proven to matter most") ||
		!strings.HasSuffix(text, "how they are combined, and noise, 100 %") {
		t.Errorf("without a proof it says %q", text)
	}
}

// The best cell that may win is proven, although the noise of a barred cell hides the difference from that cell.
func TestBestWithoutTheBarredMatters(t *testing.T) {
	m := modeltest.Throughput(t)
	s := modeltest.Made([]model.Axis{{Name: "server", Values: []string{"a", "b", "c"}},
		{Name: "ntrainer", Values: []string{"1", "2"}}}, func(v []string) modeltest.Plot {
		p := modeltest.Plot{Throughput: 1000, Noise: 0.01, Runs: 10, Loss: 0.3}
		switch v[0] {
		case "a":
			p.Noise, p.Loss = 0.4, 0.6
		case "b":
			p.Throughput = 1100
		}
		return p
	})
	s.Baseline, s.Again = 2, nil // b
	if text := strings.Join(answered(t, s, m, "changes"),
		""); text != "the best server is b in 2 of 2 combinations of the other axes" {
		t.Errorf("it says %q", text)
	}
	if text := answered(t, s, m, "matters")[0]; !strings.HasPrefix(text, "server ") ||
		strings.Contains(text, "server 100 % (not proven)") {
		t.Errorf("beside that it says %q", text)
	}
}

// Every text states clearly if no practical number of runs would prove the change.
func TestBeyondReach(t *testing.T) {
	m := modeltest.Throughput(t)
	s := modeltest.Speeds(map[string]float64{"average": 1000, "batch": 1000, "sum": 1000}, nil)
	for i, r := range s.Cells[1].Runs { // a change of a thousandth of the noise
		r.Values[model.Throughput] = s.Cells[0].Runs[i].Values[model.Throughput] * (1 + 0.00001*float64(i%2) +
			0.03*float64(i%2*2-1))
		s.Again.Runs[i].Values[model.Throughput] = s.Cells[0].Runs[i].Values[model.Throughput]
	}
	row := verdict.TableOf(s, m).Rows[1]
	if row.Change.Needed <= judge.MostNeeded {
		t.Fatalf("%d runs are needed", row.Change.Needed)
	}
	c, err := verdict.Along(s, "server", m)
	if err != nil {
		t.Fatal(err)
	}
	if got := comparedRows(c)[0][7]; got != "not within reach" {
		t.Errorf("a comparison says %q", got)
	}
	if got := fmt.Sprint(answered(t, s, m, "best")); !strings.Contains(got, "a proof is not within reach") {
		t.Errorf("it says %q", got)
	}
	if got := needed(judge.RunsFor(1e-9, []float64{1, 1.1, 0.9}, 1, judge.Floor{})); got != "not within reach" {
		t.Errorf("psbench noise says %q", got)
	}
}
