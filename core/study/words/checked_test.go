package words

import (
	"testing"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/model"
)

// One line describes the checks of all runs. It gives each reason once.
func TestWhatOfAStudyWasChecked(t *testing.T) {
	reason := []result.Unchecked{{What: "hook noop", Reason: "it uses no link"}}
	s := &model.Study{Cells: []*model.Cell{
		{Name: "a", Runs: []*model.Run{{Checks: &result.Checks{Slices: 10, Share: 0.001}},
			{Checks: &result.Checks{Slices: 20, Share: 0.002}}}},
		{Name: "b", Runs: []*model.Run{{Checks: &result.Checks{Share: 0.003, Unchecked: reason}},
			{Checks: &result.Checks{Share: 0.003, Unchecked: reason}}, {}}},
	}}
	const want = "30 slices of 4 runs, 0.2 % of a pass (median; 0.3 % at most); unchecked: hook noop (it uses no link) in b; 1 run without --check"
	if got := checked(s); got != want {
		t.Errorf("%q, not %q", got, want)
	}
	if got := checked((&model.Study{Cells: []*model.Cell{{Runs: []*model.Run{{}}}}})); got != "" {
		t.Errorf("of runs without --check it says %q", got)
	}
}
