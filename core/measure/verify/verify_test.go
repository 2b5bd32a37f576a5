package verify

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/plan/config"
)

// A run that failed says nothing of the numbers: it is no disagreement.
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
	if !errors.Is(err, ErrFailed) || err.Error() != "not every reference case agrees: none ran to its end, 2 of 2 failed on the way" {
		t.Errorf("got %v", err)
	}
	lines := strings.Split(out.String(), "\n")
	want := "  did not run: trainer0 (process 7) was killed by signal 9 during warm-up\\x1b[31m"
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "ERROR "+cases[0].Head().Name) || !strings.HasSuffix(lines[0], want) ||
		lines[2] != "none of 2 cases ran to its end, 2 did not run" || strings.Contains(out.String(), "FAIL") {
		t.Errorf("got\n%s", out.String())
	}
}

func TestCounts(t *testing.T) {
	for want, c := range map[string][2]int{"": {0, 0}, "1 disagrees": {1, 0}, "3 disagree": {3, 0}, "1 did not run": {0, 1}, "2 disagree, 1 did not run": {2, 1}} {
		if got := strings.Join(counts(c[0], c[1]), ", "); got != want {
			t.Errorf("%v: %q", c, got)
		}
	}
}
