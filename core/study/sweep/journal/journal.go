// Package journal records the states of a sweep's runs. Each process appends lines to a file of its own, and reading
// merges the files. If a process is killed or the machine loses power, only the last line of a file can be torn.
//
// A writer holds the lock of the sweep and has a generation of its own. Events are ordered by generation and by
// sequence number, not by time, since clocks jump.
package journal

import (
	"cmp"
	"regexp"
	"slices"
	"time"
)

// State is the state of a run.
type State string

// The states of runs. A run without events is waiting. The plan has the skipped cells.
const (
	Waiting State = "waiting" // not started, ended early, or its folder is gone
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed"
	Skipped State = "skipped"
)

// Event is one line of a journal: a run has entered a state.
type Event struct {
	// Generation counts the locks of the sweep and comes from the writer's lock. Sequence counts the events of a
	// generation from 1. The writer sets both.
	Generation uint64 `json:"generation"`
	Sequence   uint64 `json:"sequence"`
	// Time is for people and does not order events.
	Time  time.Time `json:"time"`
	Run   string    `json:"run"` // ID of its turn
	State State     `json:"state"`
	// Folder is the run folder, relative to the sweep folder.
	Folder  string  `json:"folder,omitempty"`
	Seconds float64 `json:"seconds,omitempty"` // duration of a run that has ended
	Reason  string  `json:"reason,omitempty"`
	Writer  string  `json:"-"` // name of its file, without extension
}

// writer matches the name of a writer's file: host, process ID and start time.
var writer = regexp.MustCompile(`^(.+)-[0-9]+-[0-9]{8}T[0-9]{6}\.[0-9]{9}(-[0-9]+)?$`)

// Host returns the host of the event's writer, "" if the name of its file does not tell.
func (e Event) Host() string {
	if parts := writer.FindStringSubmatch(e.Writer); parts != nil {
		return parts[1]
	}
	return ""
}

// merge sorts events into their order.
func merge(events []Event) {
	slices.SortStableFunc(events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Writer, b.Writer),
			cmp.Compare(a.Sequence, b.Sequence))
	})
}

// Run is the outcome of a run's events.
type Run struct {
	State    State
	Reason   string
	Attempts int // number of starts
	Seconds  float64
}

// Runs returns the last state of every run in events, which must be in order.
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

// Generation returns the highest generation of events, 0 without events.
func Generation(events []Event) uint64 {
	var highest uint64
	for _, e := range events {
		highest = max(highest, e.Generation)
	}
	return highest
}
