package process

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/psbench/psbench/internal/stack"
)

// mostLeft bounds how many places of goroutines are named.
const mostLeft = 3

// Left says what goroutines the parts have left running, once they are closed: how many, where
// they stand and where they were started. It waits no longer than closeGrace for those that are
// about to end. What ran before the process was made, as what packages start for themselves, is
// none of the parts'.
func (p *Process) Left() string {
	var left map[string]int
	Within(closeGrace, func() bool {
		left = leftOf(stack.Parse(stacks()), p.before)
		return len(left) == 0
	})
	return listLeft(left)
}

// leftOf counts the goroutines of parts by where they stand.
func leftOf(all []stack.Goroutine, before map[string]bool) map[string]int {
	left := map[string]int{}
	for _, g := range all {
		if stands := standsOf(g); stands != "" && !before[g.ID] {
			left[stands]++
		}
	}
	return left
}

// standsOf says where a goroutine of a part stands, and is "" for one that is none: neither a part
// started it nor runs on it.
func standsOf(g stack.Goroutine) string {
	if len(g.Frames) == 0 {
		return ""
	}
	at := slices.IndexFunc(g.Frames, func(f stack.Frame) bool { return f.Owner() == stack.Part })
	started := g.Creator.Owner() == stack.Part
	switch {
	case at >= 0 && started:
		return fmt.Sprintf("in %s, started by %s", g.Frames[at], g.Creator)
	case at >= 0:
		return fmt.Sprintf("in %s", g.Frames[at])
	case started:
		return fmt.Sprintf("in %s, started by %s", g.Frames[len(g.Frames)-1], g.Creator)
	}
	return ""
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

// running are the goroutines that there are.
func running() map[string]bool {
	ids := map[string]bool{}
	for _, g := range stack.Parse(stacks()) {
		ids[g.ID] = true
	}
	return ids
}

// longestStacks bounds the text of all stacks, in bytes: what is beyond it is not counted.
const longestStacks = 64 << 20

// stacks are the stacks of all goroutines.
func stacks() string {
	for size := 64<<10 + runtime.NumGoroutine()<<10; ; size *= 2 {
		text := make([]byte, min(size, longestStacks))
		if n := runtime.Stack(text, true); n < len(text) || size >= longestStacks {
			return string(text[:n])
		}
	}
}
