package process

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/psbench/psbench/internal/stack"
)

// mostLeft is the maximum number of places that a report names.
const mostLeft = 3

// Left reports goroutines that still run after the parts were closed: their number, their places
// and the places that started them. Left waits at most closeGrace for goroutines that are about to
// end. Left ignores goroutines from before p was made, such as those that packages start.
func (p *Process) Left() string {
	var left map[string]int
	Within(closeGrace, func() bool {
		left = leftOf(stack.All(), p.before)
		return len(left) == 0
	})
	return listLeft(left)
}

// leftOf counts the goroutines of parts by their place.
func leftOf(all []stack.Goroutine, before map[string]bool) map[string]int {
	left := map[string]int{}
	for _, g := range all {
		if stands := standsOf(g); stands != "" && !before[g.ID] {
			left[stands]++
		}
	}
	return left
}

// standsOf describes the place of a part's goroutine. standsOf returns "" for any other goroutine.
func standsOf(g stack.Goroutine) string {
	if len(g.Frames) == 0 || !isPart(g) {
		return ""
	}
	where := g.Root()
	if at := slices.IndexFunc(g.Frames, func(f stack.Frame) bool { return f.Owner() == stack.Part }); at >= 0 {
		where = g.Frames[at]
	}
	text := "in " + cmp.Or(where, g.Frames[len(g.Frames)-1]).String()
	if by := g.Creator.Owner(); by == stack.Part || by != stack.Psbench && g.Mark == stack.ForPart {
		text += ", started by " + g.Creator.String()
	}
	return text
}

// isPart reports whether a goroutine belongs to a part. The goroutine belongs to a part if the
// part, or a library that the part called, started it or runs on it. Goroutines that psbench starts
// for a part do not count. Goroutines that Go starts once per process do not count either.
func isPart(g stack.Goroutine) bool {
	runs := func(owner stack.Owner) bool {
		return slices.ContainsFunc(g.Frames, func(f stack.Frame) bool { return f.Owner() == owner })
	}
	switch {
	case g.Creator.Owner() == stack.Part, runs(stack.Part):
		return true
	case g.Creator.Owner() == stack.Psbench, runs(stack.Psbench), g.Creator == stack.Frame{}:
		return false
	case strings.HasPrefix(g.Creator.Function, "runtime."), strings.HasPrefix(g.Creator.Function, "os/signal."):
		return false
	}
	return g.Mark == stack.ForPart
}

// listLeft names the places with the most goroutines.
func listLeft(left map[string]int) string {
	places := slices.SortedFunc(maps.Keys(left), func(a, b string) int {
		return cmp.Or(left[b]-left[a], strings.Compare(a, b))
	})
	var told []string
	for _, place := range places[:min(mostLeft, len(places))] {
		told = append(told, fmt.Sprintf("%s %s", goroutines(left[place]), place))
	}
	rest := 0
	for _, place := range places[len(told):] {
		rest += left[place]
	}
	if rest > 0 {
		told = append(told, goroutines(rest)+" elsewhere")
	}
	return strings.Join(told, "; ")
}

func goroutines(n int) string {
	if n == 1 {
		return "1 goroutine"
	}
	return fmt.Sprintf("%d goroutines", n)
}

// running returns the IDs of the current goroutines.
func running() map[string]bool {
	ids := map[string]bool{}
	for _, g := range stack.All() {
		ids[g.ID] = true
	}
	return ids
}
