package words

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// Machine describes the machine of the first run. It returns "" if the machine is unknown.
func Machine(s *model.Study) string {
	runs := s.AllRuns()
	if len(runs) == 0 || runs[0].Environment.CPU == "" {
		return ""
	}
	e := runs[0].Environment
	return fmt.Sprintf("%s, %s, %s MiB, %s %s, psbench %s", quote.Text(e.CPU), screen.Count(e.Cores, "core"),
		screen.Thousands(e.MemoryMiB), quote.Text(e.OS), quote.Text(e.Kernel), quote.Text(cmp.Or(e.Commit, e.Psbench)))
}

// mixed describes how the environments of other runs differ from the first run's environment.
func mixed(s *model.Study) []string {
	runs := s.AllRuns()
	var order []result.Difference
	counts := map[result.Difference]int{}
	for _, r := range runs {
		for _, d := range runs[0].Environment.Differences(r.Environment) {
			if !s.Explains(d.Name) {
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
		texts = append(texts, fmt.Sprintf("not all runs have the same %s: %d of %d have %s, the first has %s",
			quote.Text(d.Name), counts[d], len(runs), quote.Text(d.New), quote.Text(d.Old)))
	}
	return texts
}

// Warnings returns the study's warnings and the differences between the environments of its runs.
func Warnings(s *model.Study) []string {
	texts := slices.Concat(s.Warnings, mixed(s))
	for i, text := range texts {
		texts[i] = quote.Message(text)
	}
	return texts
}
