package verify

import (
	"fmt"
	"io"
	"time"

	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// skipWidth is the width, in columns, of the lines about skipped cases.
const skipWidth = 80

// writeSkip writes why a case did not run. It wraps a long reason.
func writeSkip(w io.Writer, c Case, reason *misfit) error {
	page := screen.Page{Width: skipWidth}
	page.Line(6, fmt.Sprintf("skip  %s: %s", c.Head().title(), quote.Lines(reason.Error())))
	_, err := w.Write(page.Bytes())
	return err
}

// writeBroken writes why a run of a case failed.
func writeBroken(w io.Writer, c Case, reason error) error {
	_, err := fmt.Fprintf(w, "ERROR %-32s  did not run: %s\n", c.Head().title(), quote.Lines(reason.Error()))
	return err
}

// mostLines is the largest number of lines about a failed case.
const mostLines = 12

// writeVerdict writes the verdict on a case. For a failed case it adds the first wrong value in each tensor and in
// the losses of each trainer.
func writeVerdict(w io.Writer, c Case, o Outcome, took time.Duration) error {
	verdict := "ok  "
	if len(o.Failures) > 0 {
		verdict = "FAIL"
	}
	tol := c.Head().Tolerance
	text := fmt.Sprintf("%s  %-32s", verdict, c.Head().title()) +
		fmt.Sprintf("  off by at most: loss %.1e (allowed %.0e), delta %.1e (%.0e), sum of squares %.1e (%.0e)  %.1f s",
			o.LossRel, tol.LossRel, o.DeltaHeadAbs, tol.DeltaHeadAbs,
			o.DeltaSumSqRel, tol.DeltaSumSqRel, took.Seconds()) +
		firstFailures(o.Failures)
	_, err := fmt.Fprintln(w, text)
	return err
}

// firstFailures returns lines with the first failure of each tensor and the number of others.
func firstFailures(failures []Failure) (lines string) {
	told := map[[2]string]bool{}
	for _, f := range failures {
		at := [2]string{f.Process, f.Tensor}
		if told[at] || len(told) == mostLines {
			continue
		}
		told[at] = true
		lines += "\n      " + f.String()
	}
	if rest := len(failures) - len(told); rest > 0 {
		lines += fmt.Sprintf("\n      and %d more values", rest)
	}
	return lines
}
