package verdict

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/model/modeltest"
)

// started returns a study whose rounds begin one minute apart. Within a round, the cells start their runs one second
// apart.
func started(rounds int) *model.Study {
	s := modeltest.Made(modeltest.Servers,
		func([]string) modeltest.Plot { return modeltest.Plot{Throughput: 1000, Noise: 0.01, Runs: rounds} })
	for i, c := range s.All() {
		for _, r := range c.Runs {
			r.Started = time.Unix(int64(60*r.Round+i), 0)
		}
	}
	return s
}

// Late runs are not compared within a round with runs that were made in time.
func TestLateRuns(t *testing.T) {
	for name, c := range map[string]struct {
		late    func(round int) bool // whether the run of server sum in this round is late
		rounds  int                  // number of rounds in which sum is compared with the baseline
		warning bool
	}{
		"none":      {func(int) bool { return false }, 8, false},
		"a retry":   {func(round int) bool { return round == 3 }, 7, false},
		"the last":  {func(round int) bool { return round == 7 }, 8, false},
		"all":       {func(int) bool { return true }, 1, true}, // no later round shows that the last one is late
		"all but 1": {func(round int) bool { return round > 0 }, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := started(8)
			for _, r := range s.Cells[2].Runs {
				if c.late(r.Round) {
					r.Started = r.Started.Add(time.Hour)
				}
			}
			s.Settle()
			old, fresh := runsOf(s, s.Cells[0], model.Throughput), runsOf(s, s.Cells[2], model.Throughput)
			if got := judge.Compare([]judge.Pair{{Old: old, New: fresh}}, true,
				judge.Floor{Change: 0.01, Runs: 8})[0]; got.Rounds != c.rounds {
				t.Errorf("it is compared in %d rounds, not %d: %+v", got.Rounds, c.rounds, fresh)
			}
			if warned := strings.Contains(fmt.Sprint(s.Warnings),
				"ran later than the baseline"); warned != c.warning {
				t.Errorf("the warnings are %q", s.Warnings)
			}
		})
	}
}
