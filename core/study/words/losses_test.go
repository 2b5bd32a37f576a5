package words

import (
	"fmt"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model/modeltest"
	"github.com/psbench/psbench/core/study/verdict"
)

// The text describes a loss relative to the reference's loss.
func TestLossTold(t *testing.T) {
	s := modeltest.Speeds(map[string]float64{"average": 1000, "batch": 1100, "sum": 900}, nil)
	o := &verdict.Contest{Study: s, Cells: s.Cells, Reference: s.Cells[0]}
	for want, l := range map[string]verdict.Loss{
		"held-out loss 0.3000, which the others are compared with": {Median: 0.3,
			Reference: 0.3},
		"held-out loss 0.3000, beside 0.3000 of the baseline (the same)": {Median: 0.3,
			Reference: 0.3, Compared: true},
		"held-out loss 0.3000, beside 0.3000 of the baseline (the same but for rounding)": {Median: 0.3,
			Reference: 0.3, Compared: true, Change: judge.Change{Change: 1e-7}},
		"held-out loss 0.3300, beside 0.3000 of the baseline (+10.0 %, p = 0.030, floor 1.0 %)": {Median: 0.33,
			Reference: 0.3, Compared: true, Change: judge.Change{Change: 0.1, Adjusted: 0.03},
			Floor: judge.Floor{Change: 0.01}},
		"held-out loss 0.3000, beside a loss of the baseline that is not finite": {Median: 0.3,
			Reference: nan, Compared: true, Change: judge.Change{Change: nan}},
	} {
		t.Run(fmt.Sprintf("%.60s", want), func(t *testing.T) {
			if got := describeLoss(o, l); got != want {
				t.Errorf("%q, not %q", got, want)
			}
		})
	}
	if text := lossText(o); !strings.HasPrefix(text, "not known") {
		t.Errorf("before anything is judged it says %q", text)
	}
}
