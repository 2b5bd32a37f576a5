package main

import (
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/psbench/psbench/core/show/trace/tracetest"
)

// traced checks that a file is a valid trace with the given number of processes. The trace must have exactly the
// given lanes and flows. For example: traced out.json 3 compute,communication,work push,answer.
func traced(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: traced file processes lanes flows")
	}
	trace, err := tracetest.Read(strings.NewReader(ts.ReadFile(args[0])))
	ts.Check(err)
	if strconv.Itoa(len(trace.Processes)) != args[1] {
		ts.Fatalf("it has the processes %v, want %s", trace.Processes, args[1])
	}
	lanes := map[string]int{}
	for _, name := range trace.Threads {
		lanes[name]++
	}
	require := func(what string, found map[string]int, want string) {
		names := strings.Split(want, ",")
		for _, name := range names {
			if found[name] == 0 {
				ts.Fatalf("it has the %s %v, and no %s", what, found, name)
			}
		}
		if len(found) != len(names) {
			ts.Fatalf("it has the %s %v, want %s", what, found, want)
		}
	}
	require("lanes", lanes, args[2])
	require("flows", trace.Flows, args[3])
}
