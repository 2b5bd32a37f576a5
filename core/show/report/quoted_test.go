package report

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/metric"
)

// Reports contain no control characters except line breaks, whatever plugins and files say.
func TestWhatPluginsSayIsQuoted(t *testing.T) {
	const odd = "a\x1b[31m\x00\nb\u009b\xff"
	r := numbered(stamped(2, "ddp"), 1)
	r.Processes[0].Facts = map[string]string{"k" + odd: "v" + odd}
	r.Environment.BLAS = []result.BLAS{{Engine: odd, Library: odd, Core: odd, Threads: odd}}
	r.Plugins = []result.Plugin{{Name: odd, Registry: odd, Command: []string{odd, odd}, SHA256: odd, Contract: odd,
		Files: map[string]string{odd: odd}}}
	head := metric.Head{Type: odd, Name: odd, Unit: "1"}
	r.Count(0, head, 1)
	h := metric.NewHistogram([]float64{1})
	h.Counts[0], h.NaN = 1, 1
	head.Type += "h"
	r.Distribute(0, head, h)
	for _, report := range []string{Full, Table, Summary} {
		t.Run(report, func(t *testing.T) {
			for _, width := range []int{0, 80} {
				got := text(t, r, Options{Report: report, Width: width})
				for _, line := range strings.Split(got, "\n") {
					if strings.ContainsFunc(line, unicode.IsControl) || !utf8.ValidString(line) {
						t.Errorf("%s, %d columns: %q", report, width, line)
					}
				}
				if want := `k` + `a\x1b[31m\x00\nb\u009b� v`; report == Full && width == 0 &&
					!strings.Contains(got, want) {
					t.Errorf("there is no %s", want)
				}
			}
		})
	}
}
