package report

import (
	"fmt"
	"io"
	"time"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// Rerun writes how a repeated run differs from the older one. The output follows the tables of the repeated run.
func Rerun(w io.Writer, name string, old, now *result.Result, differences []result.Difference, width int) error {
	p := &screen.Page{Width: width}
	p.Line(0, "")
	p.Line(2, fmt.Sprintf("compared with %s of %s", quote.Word(name), old.Started.UTC().Format(time.RFC3339)))
	p.Labelled("throughput", change(old, now))
	if len(differences) == 0 {
		p.Labelled("differs", "no known difference")
	}
	differencesTable(p, differences)
	_, err := p.WriteTo(w)
	return err
}

// change compares the throughput of a run with an older run's throughput.
func change(old, now *result.Result) string {
	a, b := old.Throughput.SamplesPerSecond, now.Throughput.SamplesPerSecond
	if a <= 0 || b <= 0 {
		return "cannot be compared: one run has no throughput"
	}
	text := fmt.Sprintf("%.1f, now %.1f samples per second", a, b)
	if by, ok := judge.Relative(a, b); ok {
		text += fmt.Sprintf(", %+.1f %%", 100*by)
	}
	if !old.Complete || !now.Complete {
		return text + " (not both are complete)"
	}
	return text + " (one run each: chance alone may be more)"
}

// differencesTable writes the differences between two runs, one row per difference.
func differencesTable(p *screen.Page, differences []result.Difference) {
	if len(differences) == 0 {
		return
	}
	var rows [][]string
	for _, d := range differences {
		rows = append(rows, []string{d.Name, d.Old, d.New})
	}
	p.Columns([]screen.Column{screen.Left("differs"), screen.Left("then"), screen.Left("now")}, rows)
}
