package verdict

import (
	"testing"

	"github.com/psbench/psbench/core/study/model"
)

// The baseline and its A/A cell are one experiment, so their runs and failures count together.
func TestWhoCrashes(t *testing.T) {
	for name, c := range map[string]struct {
		done, failed, againDone, againFailed int
		most                                 float64
		want                                 bool
	}{
		"no run":              {0, 0, 0, 0, 0, false},
		"none failed":         {10, 0, 10, 0, 0, false},
		"one, none may":       {10, 1, 10, 0, 0, true},
		"as many as may":      {9, 1, 9, 1, 0.1, false},
		"the A/A cell":        {10, 0, 5, 5, 0.1, true},
		"half, all may":       {5, 5, 5, 5, 1, false},
		"all, which all may":  {0, 10, 0, 10, 1, false},
		"one of eleven":       {10, 1, 0, 0, 0.1, false},
		"one of six":          {5, 1, 0, 0, 0.1, true},
		"a third of hundreds": {200, 100, 0, 0, 1. / 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			cell := func(done, failed int) *model.Cell {
				return &model.Cell{Runs: make([]*model.Run, done), Failed: make([]model.Failure, failed)}
			}
			s := &model.Study{Cells: []*model.Cell{cell(c.done, c.failed)}, Again: cell(c.againDone, c.againFailed),
				MostFailed: &c.most}
			if got := crashes(s, s.Cells[0]); got != c.want {
				t.Errorf("%v, not %v", got, c.want)
			}
		})
	}
}
