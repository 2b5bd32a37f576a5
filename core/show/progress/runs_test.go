package progress

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/psbench/psbench/internal/golden"
)

func TestRuns(t *testing.T) {
	told := func(columns int, quiet bool) string {
		var out bytes.Buffer
		p, c := on(&out, columns, false, quiet)
		runs := Runs{Progress: p}
		for i, failed := range []string{"", "the server has died\x1b", ""} {
			run := OneRun{Number: i + 1, Total: 3, Name: "server=average ntrainer=2, round 0",
				Left: time.Duration(3-i) * time.Second}
			runs.Start(run)
			c.pass(time.Second)
			run.Failed, run.SamplesPerSecond, run.Seconds, run.Left = failed, 15811.3, 1, time.Duration(2-i)*time.Second
			runs.End(run)
		}
		p.Done()
		return strings.ReplaceAll(out.String(), "\r\x1b[K", "\n<clear>")
	}
	golden.Require(t, "testdata/runs_plain.txt", told(0, false))
	golden.Require(t, "testdata/runs_terminal.txt", told(200, false)+"\n")
	for _, columns := range []int{0, 80} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			if got := told(columns, true); got != "" {
				t.Errorf("quiet runs said %q", got)
			}
		})
	}
	for _, line := range strings.Split(told(60, false), "\n<clear>") {
		if utf8.RuneCountInString(line) >= 60 && !strings.Contains(line, "failed") {
			t.Errorf("on a narrow terminal it says %q", line)
		}
	}
}
