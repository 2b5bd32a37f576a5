// Package spelling suggests corrections for misspelt names and lists the valid names.
package spelling

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/psbench/psbench/internal/quote"
)

// longest limits the length of names in bytes. A longer name is not a typing error, and comparing it would take
// long.
const longest = 100

// An error lists all names if there are up to mostListed, and otherwise only similar names.
const (
	mostListed = 8
	nearest    = 5
)

// Nearest returns the candidate most similar to name, or "" if none is similar enough for a typing error.
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

// Hint returns the end of an error about an unknown name: "; did you mean "average"?", or the text of Choices.
func Hint(name string, known []string, noun, all string) string {
	if near := Nearest(name, known); near != "" {
		return "; did you mean " + quote.String(near) + "?"
	}
	return "; " + Choices(name, known, noun, all)
}

// Choices lists the valid names in a clause: "the keys are a, b". If there are many, it lists only the most similar
// ones. The noun is in the plural and may be empty. The text all names a command that shows the rest, as in
// "psbench list shows all"; "" if there is none.
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
