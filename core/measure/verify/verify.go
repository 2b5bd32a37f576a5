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
)

//go:generate go test -run TestSchema -update .

// ErrFailed reports that the results of a case differ from the expected ones. The output names the case.
var ErrFailed = errors.New("not every reference case agrees")

// Resolve turns the values of a case into an experiment.
type Resolve func(config.Layer) (*config.Experiment, error)

// Run runs the cases one after the other in real plugin processes. It writes a line for each case, with the largest
// deviations, and a line for each value out of tolerance. A case whose run failed is counted separately from a case
// that disagrees. If a case does not fit the chosen parts and settings, Run skips it and writes the reason.
func Run(
	ctx context.Context, cases []Case, chosen Substitutes, resolve Resolve, o run.Options, w io.Writer,
) error {
	t := tally{cases: len(cases)}
	for _, c := range cases {
		started := time.Now()
		outcome, err := runCase(ctx, c, chosen, resolve, o)
		if errors.Is(err, monitor.ErrInterrupted) {
			return err
		}
		if err := t.add(w, c, outcome, err, time.Since(started)); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(w, t.summary()); err != nil {
		return err
	}
	return t.err()
}

// runCase runs a case and compares the result. The error is a misfit if the case does not fit the user's choice.
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

// tally counts the cases by their results.
type tally struct{ cases, disagree, broken, skipped int }

// add counts a case and writes its result.
func (t *tally) add(w io.Writer, c Case, outcome Outcome, err error, took time.Duration) error {
	if reason := (*misfit)(nil); errors.As(err, &reason) {
		t.skipped++
		return writeSkip(w, c, reason)
	}
	if err != nil {
		t.broken++
		return writeBroken(w, c, err)
	}
	if len(outcome.Failures) > 0 {
		t.disagree++
	}
	return writeVerdict(w, c, outcome, took)
}

// ran returns the number of cases whose run completed.
func (t *tally) ran() int { return t.cases - t.skipped - t.broken }

// summary returns the last line of the output.
func (t *tally) summary() string {
	counts := []string{fmt.Sprintf("%d of %d cases agree", t.ran()-t.disagree, t.ran()+t.broken)}
	if t.ran() == 0 {
		counts[0] = fmt.Sprintf("none of %d cases completed", t.cases)
	}
	counts = append(counts, t.wrong()...)
	if t.skipped > 0 {
		counts = append(counts, fmt.Sprintf("%d skipped", t.skipped))
	}
	return strings.Join(counts, ", ")
}

// wrong describes how many cases disagree and how many did not run. It returns nil if there are none.
func (t *tally) wrong() []string {
	var counts []string
	switch {
	case t.disagree == 1:
		counts = append(counts, "1 disagrees")
	case t.disagree > 1:
		counts = append(counts, fmt.Sprintf("%d disagree", t.disagree))
	}
	if t.broken > 0 {
		counts = append(counts, fmt.Sprintf("%d did not run", t.broken))
	}
	return counts
}

// err returns nil if at least one case ran and all cases that were not skipped agree.
func (t *tally) err() error {
	switch wrong := t.wrong(); {
	case t.ran() == 0 && t.broken == 0:
		return errors.New("no reference case could run: none fits the parts and settings given")
	case t.ran() == 0:
		return fmt.Errorf("%w: none completed, %d of %d failed", ErrFailed, t.broken, t.cases)
	case len(wrong) > 0:
		return fmt.Errorf("%w: of %d cases %s", ErrFailed, t.ran()+t.broken, strings.Join(wrong, " and "))
	}
	return nil
}
