package words

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/model/modeltest"
)

// The text about a single run does not mention cells, a baseline or comparisons.
func TestOneRun(t *testing.T) {
	of := func(runs, failed int) *model.Study {
		s := modeltest.Made(nil, func([]string) modeltest.Plot {
			return modeltest.Plot{Throughput: 1000, Runs: runs, Failed: failed, Iterations: 50}
		})
		s.Again = nil
		return s
	}
	cells := regexp.MustCompile(`(?i)\bcells?\b|\bcompared?\b|baseline|all runs|too few`)
	for name, c := range map[string]struct {
		runs, failed int
		one          bool
		heading      string
	}{
		"a run":                    {1, 0, true, "made: 1 run done"},
		"a failed run":             {0, 1, true, "made: 1 run failed"},
		"two runs":                 {2, 0, false, "made: 1 cell, 2 runs done; compared by throughput"},
		"a run and one that fails": {1, 1, false, "made: 1 cell, 1 run done, 1 failed; compared by throughput"},
	} {
		t.Run(name, func(t *testing.T) {
			s := of(c.runs, c.failed)
			if len(s.Cells[0].Runs) > 0 {
				s.Cells[0].Runs[0].Warnings = []string{"other processes took 53 % of the machine's CPU time"}
			}
			if got := Heading(s, modeltest.Throughput(t)); got != c.heading {
				t.Errorf("the heading is %q, not %q", got, c.heading)
			}
			var text bytes.Buffer
			if err := WriteStudy(&text, s, Options{Full: true}); err != nil {
				t.Fatal(err)
			}
			_, below, _ := strings.Cut(text.String(), "\n\n")
			_, below, _ = strings.Cut(below, "\n\n") // below the table's header
			if found := cells.FindString(below); s.OneRun() != c.one || c.one && found != "" {
				t.Errorf("OneRun is %t, and the text has %q:\n%s", s.OneRun(), found, text.String())
			}
			if want := "warning     machine busy: other processes took 53 %"; c.one && c.runs > 0 &&
				!strings.Contains(below, want) {
				t.Errorf("the text lacks %q:\n%s", want, text.String())
			}
		})
	}
}
