package points

import (
	"fmt"
	"runtime"
	"strings"
	"time"
)

// leftovers carries another point of the part out and looks for what that left.
func leftovers(basic Point) Point {
	return Point{
		Name:    "leftovers",
		Promise: "a part that has been closed leaves no goroutine",
		alone: func(s *Subject) error {
			before := goroutines()
			if err := basic.Check(s); err != nil {
				return err
			}
			var left string
			for start := time.Now(); time.Since(start) < time.Second; time.Sleep(5 * time.Millisecond) {
				if left = newGoroutine(before); left == "" {
					return nil
				}
			}
			return fmt.Errorf("a goroutine is left: %s", left)
		},
	}
}

// goroutines are the stacks of all, by their numbers.
func goroutines() map[string]string {
	all := make([]byte, 1<<20)
	all = all[:runtime.Stack(all, true)]
	stacks := map[string]string{}
	for stack := range strings.SplitSeq(string(all), "\n\n") {
		head, body, _ := strings.Cut(stack, " [")
		stacks[head] = body
	}
	return stacks
}

// newGoroutine says where one began that was not there before, or "".
func newGoroutine(before map[string]string) string {
	for number, stack := range goroutines() {
		_, origin, created := strings.Cut(stack, "created by ")
		if _, old := before[number]; old || !created || strings.HasPrefix(origin, "testing.") || strings.Contains(stack, "points.goroutines(") {
			continue
		}
		return strings.Join(strings.Fields(origin), " ")
	}
	return ""
}
