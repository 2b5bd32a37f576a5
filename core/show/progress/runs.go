package progress

import (
	"fmt"
	"time"

	"github.com/psbench/psbench/internal/quote"
)

// Runs reports the consecutive runs of a sweep. Plain output gets one line at the end of each run. A terminal gets
// one updated line, which includes the outcome of the last run.
type Runs struct {
	Progress *Progress
	ended    string // outcome of the last run
}

// OneRun is one of many runs.
type OneRun struct {
	Number, Total int // counted from 1
	Name          string
	// Failed is why the run has no value; "" if it has one.
	Failed           string
	SamplesPerSecond float64
	Seconds          float64       // duration of the run
	Left             time.Duration // estimated time for the remaining runs; 0 if unknown
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

// Start reports the start of a run.
func (r *Runs) Start(run OneRun) {
	if r.Progress.terminal == nil {
		return // plain output gets its line at the end of the run
	}
	line := run.place() + run.left() + "; " + run.Name
	if r.ended != "" {
		line += "; " + r.ended
	}
	r.Progress.Phase(line)
}

// End reports the outcome of a run. On a terminal, lines about failures stay visible.
func (r *Runs) End(run OneRun) {
	r.ended = run.place() + ": " + run.outcome()
	if r.Progress.terminal == nil || run.Failed != "" {
		r.Progress.Note(run.place() + ": " + run.Name + ": " + run.outcome() + run.left())
	}
}
