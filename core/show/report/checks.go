package report

import (
	"fmt"
	"strings"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/screen"
)

// checks says what of the links' payloads was recomputed, what that cost in the pass, and what could
// not be.
func checks(c *result.Checks) string {
	if c == nil {
		return ""
	}
	text := "nothing"
	if c.Slices > 0 {
		text = fmt.Sprintf("%s of %s, %.2g %% of the pass", screen.Count(int(c.Slices), "slice"), screen.Count(int(c.Iterations), "iteration"), 100*c.Share)
	}
	var not []string
	for _, u := range c.Unchecked {
		not = append(not, fmt.Sprintf("%s (%s)", u.What, u.Reason))
	}
	if len(not) > 0 {
		text += "; unchecked: " + strings.Join(not, "; ")
	}
	return text
}
