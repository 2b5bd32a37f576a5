// Package journal keeps account of the runs of a sweep: lines that are only ever appended, in a
// file of its own for each process that wrote any, and merged when they are read. A process that
// is killed, or a machine that loses its power, can tear the last line of a file and no other.
//
// Who writes holds the lock of the sweep, each holding with a generation of its own. Events are
// ordered by the generation and by their number within it: clocks jump.
package journal

import (
	"cmp"
	"regexp"
	"slices"
	"time"
)

// State is where a run is in its life.
type State string

// The states of runs. A run that nothing is written of is waiting; which are skipped the plan says.
const (
	Waiting State = "waiting" // of a run that has started: it was ended before its end, or its folder is gone
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed"
	Skipped State = "skipped"
)

// Event is one line: a run has come into a state.
type Event struct {
	// Generation is that of the lock under which it was written, Sequence counts the events of
	// that generation from 1. The writer sets them.
	Generation uint64 `json:"generation"`
	Sequence   uint64 `json:"sequence"`
	// Time is for people: the order of events is not that of their times.
	Time  time.Time `json:"time"`
	Run   string    `json:"run"` // the ID of its turn
	State State     `json:"state"`
	// Folder is relative to that of the sweep.
	Folder  string  `json:"folder,omitempty"`
	Seconds float64 `json:"seconds,omitempty"` // that it took, of one that has ended
	Reason  string  `json:"reason,omitempty"`
	Writer  string  `json:"-"` // the name of its file
}

// writer is the name of a writer's file: its host, its process and when it began.
var writer = regexp.MustCompile(`^(.+)-[0-9]+-[0-9]{8}T[0-9]{6}\.[0-9]{9}(-[0-9]+)?$`)

// Host is that of the event's writer, "" where the name of its file does not tell.
func (e Event) Host() string {
	if parts := writer.FindStringSubmatch(e.Writer); parts != nil {
		return parts[1]
	}
	return ""
}

// merge puts events into their order.
func merge(events []Event) {
	slices.SortStableFunc(events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Writer, b.Writer),
			cmp.Compare(a.Sequence, b.Sequence))
	})
}

// Run is what the events of a run come to.
type Run struct {
	State    State
	Reason   string
	Attempts int // how often it was started
	Seconds  float64
}

// Runs is the last state of every run that the events, in their order, tell of.
func Runs(events []Event) map[string]Run {
	runs := map[string]Run{}
	for _, e := range events {
		r := runs[e.Run]
		if e.State == Running {
			r.Attempts++
		}
		r.State, r.Reason, r.Seconds = e.State, e.Reason, e.Seconds
		runs[e.Run] = r
	}
	return runs
}

// Generation is the highest of the events, 0 without any.
func Generation(events []Event) uint64 {
	var highest uint64
	for _, e := range events {
		highest = max(highest, e.Generation)
	}
	return highest
}
