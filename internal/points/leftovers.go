package points

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/psbench/psbench/internal/points/harness"
	"github.com/psbench/psbench/internal/procfs"
)

// leftovers carries out another point of the part and looks for leaked resources.
func leftovers(basic harness.Point) harness.Point {
	return harness.Point{
		Name:    "leftovers",
		Promise: "a part that has been closed leaves no goroutine, no open file and no process",
		Alone: func(s *harness.Subject) error {
			before, opened, started := goroutines(), openFiles(), children()
			if err := basic.Check(s); err != nil {
				return err
			}
			var left string
			for start := time.Now(); time.Since(start) < time.Second; time.Sleep(5 * time.Millisecond) {
				left = newGoroutine(before) + newOne("an open file", opened, openFiles()) +
					newOne("a process", started, children())
				if left == "" {
					return nil
				}
			}
			return fmt.Errorf("it leaves %s", left)
		},
	}
}

// goroutines returns the stacks of all goroutines by number.
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

// newGoroutine returns where a new goroutine started, or "" if there is none.
func newGoroutine(before map[string]string) string {
	for number, stack := range goroutines() {
		_, origin, created := strings.Cut(stack, "created by ")
		_, old := before[number]
		mine := strings.HasPrefix(origin, "testing.") || strings.Contains(stack, "points.goroutines(")
		if old || !created || mine {
			continue
		}
		return "a goroutine: " + strings.Join(strings.Fields(origin), " ")
	}
	return ""
}

// openFiles returns the names of this process's open files by descriptor.
func openFiles() map[string]string {
	files := map[string]string{}
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, link := range links {
		if name, err := os.Readlink(link); err == nil { // the descriptor of this directory listing is already closed
			files[link] = name
		}
	}
	return files
}

// children returns the child processes of this process by number.
func children() map[string]string {
	numbers := map[string]string{}
	for _, pid := range procfs.Children(procfs.Here(), "self") {
		number := strconv.Itoa(pid)
		numbers[number] = number
	}
	return numbers
}

// newOne names an item that is new since before, or returns "".
func newOne(what string, before, now map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if before[key] != now[key] && !strings.HasPrefix(now[key], "anon_inode:") { // belongs to the runtime's poller
			return what + ": " + now[key]
		}
	}
	return ""
}
