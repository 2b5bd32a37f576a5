// Package spelling finds what a misspelt name was meant to be, and names what it could be.
package spelling

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/psbench/psbench/internal/quote"
)

// longest bounds names, in bytes: a longer one is no slip, and would take long to compare.
const longest = 100

// An error names all of up to mostListed names, of more the nearest ones.
const (
	mostListed = 8
	nearest    = 5
)

// Nearest is the candidate most like name, or "" if none is near enough to be
// a slip of the fingers.
func Nearest(name string, candidates []string) string {
	if len(name) > longest {
		return ""
	}
	best, bestDistance := "", 1+len(name)/2
	for _, c := range candidates {
		if d := distance(name, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

func distance(a, b string) int {
	return levenshtein.ComputeDistance(strings.ToLower(a), strings.ToLower(b))
}

// Hint ends an error about an unknown name: "; did you mean "average"?", or what Choices says.
func Hint(name string, known []string, noun, all string) string {
	if near := Nearest(name, known); near != "" {
		return "; did you mean " + quote.String(near) + "?"
	}
	return "; " + Choices(name, known, noun, all)
}

// Choices names what an unknown name could be, in a clause: "the keys are a, b", and of many the nearest ones. The
// noun, in the plural, may be missing. All says what shows the rest, as in "psbench list shows all"; "" if nothing
// does.
func Choices(name string, known []string, noun, all string) string {
	switch n := len(known); {
	case n == 0:
		if noun == "" {
			return "there are none"
		}
		return "there are no " + noun
	case n > mostListed:
		text := fmt.Sprintf("the nearest of %s are %s", strings.TrimSpace(fmt.Sprintf("%d %s", n, noun)),
			listed(few(name, known)))
		if all != "" {
			text += "; " + all
		}
		return text
	case noun == "":
		return "there are " + listed(known)
	default:
		return fmt.Sprintf("the %s are %s", noun, listed(known))
	}
}

func listed(names []string) string { return quote.Message(strings.Join(names, ", ")) }

// few returns the known names that are most similar to name, the most similar first. A name is similar if one of
// the two contains the other.
func few(name string, known []string) []string {
	if len(name) > longest {
		name = ""
	}
	lower := strings.ToLower(name)
	far := func(other string) int {
		other = strings.ToLower(other)
		d := levenshtein.ComputeDistance(lower, other)
		if name != "" && (strings.Contains(other, lower) || len(other) > 2 && strings.Contains(lower, other)) {
			d -= longest
		}
		return d
	}
	distances := make(map[string]int, len(known))
	for _, k := range known {
		distances[k] = far(k)
	}
	return slices.SortedStableFunc(slices.Values(known),
		func(a, b string) int { return distances[a] - distances[b] })[:nearest]
}
