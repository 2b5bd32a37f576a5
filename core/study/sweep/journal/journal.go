// Package journal records the states of a sweep's runs. Each process appends lines to its own file, and readers merge
// the files. If a process is killed or the machine loses power, only the last line of a file can be torn.
//
// Each writer holds the sweep's lock and has its own generation. Events are ordered by generation and sequence number,
// not by time, because clocks can jump.
package journal

import (
	"cmp"
	"regexp"
	"slices"
	"time"
)

// State is the state of a run.
type State string

// The states of runs. A run without events is waiting. Skipped cells are recorded only in the plan.
const (
	Waiting State = "waiting" // not started, ended early, or its folder is gone
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed"
	Skipped State = "skipped"
)

// Event is one line of a journal: a run has entered a state.
type Event struct {
	// Generation is the number of times that the sweep has been locked, counted when the writer took the lock. Sequence
	// counts the events of a generation from 1. The writer sets both.
	Generation uint64 `json:"generation"`
	Sequence   uint64 `json:"sequence"`
	// Time is for people. It does not order the events.
	Time  time.Time `json:"time"`
	Run   string    `json:"run"` // ID of its turn
	State State     `json:"state"`
	// Folder is the run folder, relative to the sweep folder.
	Folder  string  `json:"folder,omitempty"`
	Seconds float64 `json:"seconds,omitempty"` // duration of a run that has ended
	Reason  string  `json:"reason,omitempty"`
	Writer  string  `json:"-"` // name of the writer's file, without extension
}

// writer matches the name of a writer's file: host, process ID and start time.
var writer = regexp.MustCompile(`^(.+)-[0-9]+-[0-9]{8}T[0-9]{6}\.[0-9]{9}(-[0-9]+)?$`)

// Host returns the host of the event's writer. It returns "" if the name of the writer's file does not contain a host.
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

// Run is the state of a run after all its events.
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

// Generation returns the highest generation in events, or 0 without events.
func Generation(events []Event) uint64 {
	var highest uint64
	for _, e := range events {
		highest = max(highest, e.Generation)
	}
	return highest
}
