package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/psbench/psbench/core/measure/run"
	"github.com/psbench/psbench/core/plan/config"
	"github.com/psbench/psbench/core/process/monitor"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

//go:generate go test -run TestSchema -update .

// ErrFailed says that a case did not come out as expected; the output says
// which.
var ErrFailed = errors.New("not every reference case agrees")

// Resolve makes an experiment of the values of a case.
type Resolve func(config.Layer) (*config.Experiment, error)

// Run runs the cases one after the other through real plugin processes and
// writes a line for each, with the largest deviations, and a line for each
// value that is out of tolerance. A case whose run failed says nothing of the numbers, so
// it is told apart from one that disagrees; one that does not fit the parts and settings that the
// user chose is skipped, with the reason.
func Run(ctx context.Context, cases []Case, chosen Substitutes, resolve Resolve, o run.Options, w io.Writer) error {
	disagree, broken, skipped := 0, 0, 0
	for _, c := range cases {
		started := time.Now()
		outcome, err := runCase(ctx, c, chosen, resolve, o)
		if reason := (*misfit)(nil); errors.As(err, &reason) {
			skipped++
			if err := writeSkip(w, c, reason); err != nil {
				return err
			}
			continue
		}
		if errors.Is(err, monitor.ErrInterrupted) {
			return err
		}
		if err != nil {
			broken++
			if _, err := fmt.Fprintf(w, "ERROR %-32s  did not run: %s\n", c.Head().title(), quote.Lines(err.Error())); err != nil {
				return err
			}
			continue
		}
		if len(outcome.Failures) > 0 {
			disagree++
		}
		if err := write(w, c, outcome, time.Since(started)); err != nil {
			return err
		}
	}
	ran := len(cases) - skipped - broken
	counts := counts(disagree, broken)
	text := strings.Join(append([]string{fmt.Sprintf("%d of %d cases agree", ran-disagree, ran+broken)}, counts...), ", ")
	if ran == 0 {
		text = strings.Join(append([]string{fmt.Sprintf("none of %d cases ran to its end", len(cases))}, counts...), ", ")
	}
	if skipped > 0 {
		text += fmt.Sprintf(", %d skipped", skipped)
	}
	if _, err := fmt.Fprintln(w, text); err != nil {
		return err
	}
	switch {
	case ran == 0 && broken == 0:
		return fmt.Errorf("no reference case could run: none fits the parts and settings given")
	case ran == 0:
		return fmt.Errorf("%w: none ran to its end, %d of %d failed on the way", ErrFailed, broken, len(cases))
	case len(counts) > 0:
		return fmt.Errorf("%w: of %d cases %s", ErrFailed, ran+broken, strings.Join(counts, " and "))
	}
	return nil
}

// counts says how many cases disagree and how many did not run, where there are any.
func counts(disagree, broken int) []string {
	var out []string
	if disagree == 1 {
		out = append(out, "1 disagrees")
	} else if disagree > 1 {
		out = append(out, fmt.Sprintf("%d disagree", disagree))
	}
	if broken > 0 {
		out = append(out, fmt.Sprintf("%d did not run", broken))
	}
	return out
}

func runCase(ctx context.Context, c Case, chosen Substitutes, resolve Resolve, o run.Options) (Outcome, error) {
	e, err := resolve(c.Layer())
	if err != nil {
		return Outcome{}, chosen.unresolved(c, err)
	}
	if err := chosen.fit(c, e); err != nil {
		return Outcome{}, err
	}
	o.Summarize = true
	result, err := run.Run(ctx, e, o)
	if err != nil {
		return Outcome{}, chosen.failed(err)
	}
	if err := chosen.comparable(c, result); err != nil {
		return Outcome{}, err
	}
	return Compare(c, result), nil
}

// skipWidth is that of the lines on cases that were skipped, in columns.
const skipWidth = 80

// writeSkip prints why a case did not run. A reason that is longer than a line goes on in further
// ones.
func writeSkip(w io.Writer, c Case, reason *misfit) error {
	page := screen.Page{Width: skipWidth}
	page.Line(6, fmt.Sprintf("skip  %s: %s", c.Head().title(), quote.Lines(reason.Error())))
	_, err := w.Write(page.Bytes())
	return err
}

// mostLines bounds how many lines a failed case takes.
const mostLines = 12

// write prints the verdict on a case and, where it failed, the first value that
// is off in each tensor and in the losses of each trainer.
func write(w io.Writer, c Case, o Outcome, took time.Duration) error {
	verdict := "ok  "
	if len(o.Failures) > 0 {
		verdict = "FAIL"
	}
	tol := c.Head().Tolerance
	text := fmt.Sprintf("%s  %-32s", verdict, c.Head().title()) +
		fmt.Sprintf("  off by at most: loss %.1e (allowed %.0e), delta %.1e (%.0e), sum of squares %.1e (%.0e)  %.1f s",
			o.LossRel, tol.LossRel, o.DeltaHeadAbs, tol.DeltaHeadAbs,
			o.DeltaSumSqRel, tol.DeltaSumSqRel, took.Seconds())
	told := map[[2]string]bool{}
	for _, f := range o.Failures {
		at := [2]string{f.Process, f.Tensor}
		if told[at] || len(told) == mostLines {
			continue
		}
		told[at] = true
		text += "\n      " + f.String()
	}
	if rest := len(o.Failures) - len(told); rest > 0 {
		text += fmt.Sprintf("\n      and %d more values", rest)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
