package words

import (
	"fmt"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/record/stats"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// checked describes the checks of all runs: how much was recomputed, what share of the passes this took, and what was
// not checked. It returns "" if no run was checked.
func checked(s *model.Study) string {
	var slicesOf, runs, none int
	var shares []float64
	var reasons []string
	where := map[string][]string{}
	for _, c := range s.All() {
		for _, r := range c.Runs {
			runs++
			if r.Checks == nil {
				none++
				continue
			}
			slicesOf += int(r.Checks.Slices)
			shares = append(shares, 100*r.Checks.Share)
			for _, u := range r.Checks.Unchecked {
				reason := fmt.Sprintf("%s (%s)", u.What, u.Reason)
				if where[reason] == nil {
					reasons = append(reasons, reason)
				}
				if !slices.Contains(where[reason], c.Name) {
					where[reason] = append(where[reason], c.Name)
				}
			}
		}
	}
	if len(shares) == 0 {
		return ""
	}
	if s.OneRun() {
		text := fmt.Sprintf("%s, %.2g %% of the pass", screen.Count(slicesOf, "slice"), shares[0])
		if len(reasons) > 0 {
			text += "; unchecked: " + quote.Message(strings.Join(reasons, "; "))
		}
		return text
	}
	sum := stats.Consume(shares)
	text := fmt.Sprintf("%s of %s, %.2g %% of a pass (median; %.2g %% at most)", screen.Count(slicesOf, "slice"),
		screen.Count(runs-none, "run"), sum.P50, sum.Max)
	var not []string
	for _, reason := range reasons {
		not = append(not, fmt.Sprintf("%s in %s", quote.Message(reason), named(where[reason])))
	}
	if none > 0 {
		not = append(not, screen.Count(none, "run")+" without --check")
	}
	if len(not) > 0 {
		text += "; unchecked: " + strings.Join(not, "; ")
	}
	return text
}
