package verify

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/plan/config"
)

// A failed run proves nothing about the numbers, so it does not count as a disagreement.
func TestACaseThatDoesNotRun(t *testing.T) {
	cases, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	killed := func(config.Layer) (*config.Experiment, error) {
		return nil, errors.New("trainer0 (process 7) was killed by signal 9 during warm-up\x1b[31m")
	}
	var out bytes.Buffer
	err = Run(t.Context(), cases[:2], Substitutes{}, killed, run.Options{}, &out)
	if !errors.Is(err, ErrFailed) ||
		err.Error() != "not every reference case agrees: none completed, 2 of 2 failed" {
		t.Errorf("got %v", err)
	}
	lines := strings.Split(out.String(), "\n")
	want := "  did not run: trainer0 (process 7) was killed by signal 9 during warm-up\\x1b[31m"
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "ERROR "+cases[0].Head().Name) ||
		!strings.HasSuffix(lines[0], want) ||
		lines[2] != "none of 2 cases completed, 2 did not run" || strings.Contains(out.String(), "FAIL") {
		t.Errorf("got\n%s", out.String())
	}
}

// The last line and the error count the cases that agree, disagree, did not run and were skipped.
func TestTally(t *testing.T) {
	for _, c := range []struct {
		tally        tally
		summary, err string
	}{
		{tally{cases: 2}, "2 of 2 cases agree", ""},
		{tally{cases: 2, disagree: 1}, "1 of 2 cases agree, 1 disagrees", "of 2 cases 1 disagrees"},
		{tally{cases: 4, disagree: 3}, "1 of 4 cases agree, 3 disagree", "of 4 cases 3 disagree"},
		{tally{cases: 3, broken: 1}, "2 of 3 cases agree, 1 did not run", "of 3 cases 1 did not run"},
		{
			tally{cases: 5, disagree: 2, broken: 1, skipped: 1},
			"1 of 4 cases agree, 2 disagree, 1 did not run, 1 skipped", "of 4 cases 2 disagree and 1 did not run",
		},
		{tally{cases: 3, skipped: 1}, "2 of 2 cases agree, 1 skipped", ""},
		{
			tally{cases: 2, skipped: 2},
			"none of 2 cases completed, 2 skipped",
			"no reference case could run: none fits the parts and settings given",
		},
		{
			tally{cases: 2, broken: 1, skipped: 1},
			"none of 2 cases completed, 1 did not run, 1 skipped", "none completed, 1 of 2 failed",
		},
	} {
		t.Run(c.summary, func(t *testing.T) {
			if got := c.tally.summary(); got != c.summary {
				t.Errorf("the summary is %q", got)
			}
			err := c.tally.err()
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.HasSuffix(err.Error(), c.err)) {
				t.Errorf("the error is %v, want %q", err, c.err)
			}
		})
	}
}
