// Package spelling finds what a misspelt name was meant to be.
package spelling

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest is the candidate most like name, or "" if none is near enough to be
// a slip of the fingers.
func Nearest(name string, candidates []string) string {
	const longest = 100 // more is no slip, and would take long to compare
	if len(name) > longest {
		return ""
	}
	best, bestDistance := "", 1+len(name)/2
	for _, c := range candidates {
		if d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}
