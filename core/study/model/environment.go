package study

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// allRuns are those of all cells, the A/A cell's last.
func (s *Study) allRuns() []*Run {
	var runs []*Run
	for _, c := range s.All() {
		runs = append(runs, c.Runs...)
	}
	return runs
}

// Machine is where the first run was measured, "" without one.
func (s *Study) Machine() string {
	runs := s.allRuns()
	if len(runs) == 0 || runs[0].Environment.CPU == "" {
		return ""
	}
	e := runs[0].Environment
	return fmt.Sprintf("%s, %s, %s MiB, %s %s, psbench %s", quote.Text(e.CPU), screen.Count(e.Cores, "core"), screen.Thousands(e.MemoryMiB), quote.Text(e.OS), quote.Text(e.Kernel), quote.Text(cmp.Or(e.Commit, e.Psbench)))
}

// mixed says in which ways not all runs were measured in the same environment as the first.
func (s *Study) mixed() []string {
	runs := s.allRuns()
	var order []result.Difference
	counts := map[result.Difference]int{}
	for _, r := range runs {
		for _, d := range runs[0].Environment.Differences(r.Environment) {
			if !s.explains(d.Name) {
				continue
			}
			if counts[d] == 0 {
				order = append(order, d)
			}
			counts[d]++
		}
	}
	var texts []string
	for _, d := range order {
		texts = append(texts, fmt.Sprintf("not all runs have the same %s: %d of %d have %s, the first has %s", quote.Text(d.Name), counts[d], len(runs), quote.Text(d.New), quote.Text(d.Old)))
	}
	return texts
}

// explains says whether a difference between environments is one that cells do not make themselves, and
// that does not come and go.
func (s *Study) explains(name string) bool {
	if Passing(name) || name == "BLAS" {
		return false
	}
	build := slices.ContainsFunc(s.Axes, func(a Axis) bool { return a.Name == buildKey })
	return !build || !slices.Contains([]string{"psbench", "commit", "Go"}, name)
}

// Passing says whether a difference is of what is measured anew before or in each run, and comes and goes.
func Passing(name string) bool {
	return slices.Contains([]string{"load before", "load at the end", "other processes' CPU time", "steal", "bandwidth of memory", "step of the clock"}, name)
}
