package view

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/study/words"
)

// A document has the same sentences as psbench show, and the same numbers in each row.
func TestDocumentSaysWhatShowSays(t *testing.T) {
	for name, path := range map[string]string{"sweep": unpacked(t), "dlrm": recordedDLRM, "comm": recordedComm} {
		t.Run(name, func(t *testing.T) {
			s, metrics := loaded(t, path), recorded(t)[name].Metrics
			for _, metric := range metrics[:min(4, len(metrics))] {
				o := fixed
				o.Metric, o.Target = metric.Name, "auc=0.8"
				d, err := Of(s, o)
				if err != nil {
					t.Fatal(err)
				}
				var text bytes.Buffer
				if err := words.WriteStudy(&text, s, words.Options{Metric: o.Metric, Target: o.Target, Full: true}); err != nil {
					t.Fatal(err)
				}
				requireShown(t, d, text.String())
			}
		})
	}
}

func requireShown(t *testing.T, d *Document, text string) {
	t.Helper()
	lines := strings.Split(text, "\n")
	all := slices.Concat([]Sentence{{Label: "study", Text: d.Heading},
		{Label: "machine", Text: d.Machine}}, d.Remarks, d.Sentences)
	for _, w := range d.Warnings {
		all = append(all, Sentence{Label: "warning:", Text: w})
	}
	for _, s := range all {
		if line := fmt.Sprintf("%-11s %s", s.Label, s.Text); !slices.Contains(lines, line) &&
			!slices.Contains(lines, s.Label+" "+s.Text) {
			t.Errorf("by %s show does not say: %s", d.Metric, line)
		}
	}
	rows := slices.DeleteFunc(slices.Clone(lines),
		func(l string) bool { return strings.HasPrefix(l, "ms per iteration") })
	for i, c := range d.Cells {
		start := c.Name + "  "
		if c.Again {
			start = "  the same again"
		}
		row := slices.IndexFunc(rows, func(l string) bool { return strings.HasPrefix(l, start) })
		if row < 0 {
			t.Fatalf("by %s there is no row of %s", d.Metric, c.Name)
		}
		e := d.Judged[d.Metric].Estimates[i]
		if e == nil || e.Median == nil {
			continue
		}
		fields := strings.Fields(strings.TrimPrefix(rows[row], start))
		if fields[0] != strconv.Itoa(e.N) || !shows(fields[1], *e.Median) {
			t.Errorf("by %s %s is %v runs of %v, but show has %q", d.Metric, c.Name, e.N, *e.Median, rows[row])
		}
		if e.Low != nil && (!shows(fields[2], *e.Low) || !shows(fields[4], *e.High)) {
			t.Errorf("by %s %s is from %v to %v, but show has %q", d.Metric, c.Name, *e.Low, *e.High, rows[row])
		}
		requireChange(t, d, i, rows[row])
	}
}

var signedPercent = regexp.MustCompile(`[+−][0-9.,]+ %`)

// requireChange compares the change from the baseline and its verdict.
func requireChange(t *testing.T, d *Document, cell int, row string) {
	t.Helper()
	change := d.Judged[d.Metric].Against[d.Baseline][cell]
	if change == nil || change.Change == nil {
		return
	}
	shown := signedPercent.FindString(row)
	if x, err := strconv.ParseFloat(plainly.Replace(strings.TrimSuffix(shown, " %")), 64); err != nil ||
		math.Abs(x-100**change.Change) > 0.0502 {
		t.Errorf("by %s %s changes by %v, but show has %q", d.Metric, d.Cells[cell].Name, *change.Change, row)
	}
	if proven := strings.Contains(row, shown+" "+string(change.Verdict)); proven != (change.Verdict != "cannot tell") &&
		!d.Cells[cell].Again {
		t.Errorf("by %s %s is %s, but show has %q", d.Metric, d.Cells[cell].Name, change.Verdict, row)
	}
}

// plainly turns a printed number into one that parsers accept.
var plainly = strings.NewReplacer("−", "-", ",", "")

// shows reports whether the number x is printed as the text.
func shows(printed string, x float64) bool {
	y, err := strconv.ParseFloat(plainly.Replace(printed), 64)
	return err == nil && math.Abs(x-y) <= 5.0001e-4*math.Abs(x)
}

// With any two baselines, the changes of the two cells mirror each other.
func TestBaselines(t *testing.T) {
	d := recorded(t)["sweep"]
	for name, j := range d.Judged {
		if len(j.Against) != 10 { // all cells with runs except the A/A cell
			t.Errorf("by %s there are %d baselines", name, len(j.Against))
		}
		for from, changes := range j.Against {
			if changes[from] != nil || len(changes) != len(d.Cells) {
				t.Errorf("by %s cell %d is compared with itself, or %d are", name, from, len(changes))
			}
			for to, c := range changes {
				if c == nil || d.Cells[to].Again {
					continue
				}
				back := j.Against[to][from]
				if c.Change == nil || back == nil || back.Change == nil {
					continue // no relative change from zero
				}
				if product := (1 + *c.Change) * (1 + *back.Change); math.Abs(product-1) > 1e-3 && from != d.Baseline &&
					to != d.Baseline {
					t.Errorf("by %s from cell %d to %d and back is %v", name, from, to, product)
				}
			}
		}
	}
}
