package progress

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/internal/quote"
)

// Runs reports the consecutive runs of a sweep: a line at the end of each, or on a terminal one
// line that is kept up to date and includes the outcome of the last run.
type Runs struct {
	Progress *Progress
	ended    string // how the last one did
}

// OneRun is one of many runs.
type OneRun struct {
	Number, Total int // from 1
	Name          string
	// Failed says why it has no value, "" if it has one.
	Failed           string
	SamplesPerSecond float64
	Seconds          float64       // that it took
	Left             time.Duration // estimate for the others, 0 if unknown
}

func (r OneRun) place() string { return fmt.Sprintf("run %d of %d", r.Number, r.Total) }

func (r OneRun) left() string {
	if r.Left <= 0 {
		return ""
	}
	return "; " + remaining(r.Left) + " left"
}

func (r OneRun) outcome() string {
	if r.Failed != "" {
		return "failed: " + quote.Message(r.Failed)
	}
	return fmt.Sprintf("%s samples/s, %s", rounded(r.SamplesPerSecond),
		remaining(time.Duration(r.Seconds*float64(time.Second))))
}

// Start says that a run begins.
func (r *Runs) Start(run OneRun) {
	if r.Progress.terminal == nil {
		return // one line a run: the one at its end
	}
	line := run.place() + run.left() + "; " + run.Name
	if r.ended != "" {
		line += "; " + r.ended
	}
	r.Progress.Phase(line)
}

// End says how a run has ended. Failures stay on a terminal.
func (r *Runs) End(run OneRun) {
	r.ended = run.place() + ": " + run.outcome()
	if r.Progress.terminal == nil || run.Failed != "" {
		r.Progress.Note(run.place() + ": " + run.Name + ": " + run.outcome() + run.left())
	}
}
