package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/psbench/psbench/core/config"
	"github.com/psbench/psbench/core/monitor"
	"github.com/psbench/psbench/core/run"
)

// ErrFailed says that a case did not come out as expected; the output says
// which.
var ErrFailed = errors.New("not every reference case agrees")

// Resolve makes an experiment of the values of a case.
type Resolve func(config.Layer) (*config.Experiment, error)

// Run runs the cases one after the other through real plugin processes and
// writes a line for each, with the largest deviations, and a line for each
// value that is out of tolerance. A case that cannot run counts as failed.
func Run(ctx context.Context, cases []*Case, resolve Resolve, o run.Options, w io.Writer) error {
	failed := 0
	for _, c := range cases {
		started := time.Now()
		outcome, err := runCase(ctx, c, resolve, o)
		if errors.Is(err, monitor.ErrInterrupted) {
			return err
		}
		if err != nil {
			outcome.Failures = []Failure{{Trainer: c.Name, Text: err.Error()}}
		}
		if len(outcome.Failures) > 0 {
			failed++
		}
		if err := write(w, c, outcome, err == nil, time.Since(started)); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(w, "%d of %d cases agree\n", len(cases)-failed, len(cases)); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%w: %d of %d", ErrFailed, failed, len(cases))
	}
	return nil
}

func runCase(ctx context.Context, c *Case, resolve Resolve, o run.Options) (Outcome, error) {
	e, err := resolve(c.Layer())
	if err != nil {
		return Outcome{}, err
	}
	o.Summarize = true
	result, err := run.Run(ctx, e, o)
	if err != nil {
		return Outcome{}, err
	}
	return Compare(c, result), nil
}

// mostLines bounds how many lines a failed case takes.
const mostLines = 12

// write prints the verdict on a case and, where it failed, the first value that
// is off in each tensor and in the losses of each trainer.
func write(w io.Writer, c *Case, o Outcome, ran bool, took time.Duration) error {
	verdict := "ok  "
	if len(o.Failures) > 0 {
		verdict = "FAIL"
	}
	text := fmt.Sprintf("%s  %-32s", verdict, c.Name)
	if ran {
		text += fmt.Sprintf("  off by at most: loss %.1e (allowed %.0e), delta %.1e (%.0e), sum of squares %.1e (%.0e)  %.1f s",
			o.LossRel, c.Tolerance.LossRel, o.DeltaHeadAbs, c.Tolerance.DeltaHeadAbs,
			o.DeltaSumSqRel, c.Tolerance.DeltaSumSqRel, took.Seconds())
	}
	told := map[[2]string]bool{}
	for _, f := range o.Failures {
		at := [2]string{f.Trainer, f.Tensor}
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
