package tracetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
)

// Shown is the number of slices and flows that ui.perfetto.dev shows.
type Shown struct{ Slices, Flows int }

// Perfetto reads a trace by the rules of Perfetto's importer, according to its documentation and its source. Perfetto
// returns an error for every event that the importer would drop or bind to another slice.
//
// The importer sorts events by time. Events at the same time keep the order of the file. So a slice must come before
// the slices inside it, and before the flows that are bound to it.
//
// A thread number belongs to exactly one process. The slices of a thread nest, at most 512 deep. A slice is closed by
// the next slice that starts at or after its end.
//
// An end of a flow is bound to the open slice of its thread that was opened last. A flow is identified by id, category
// and name, and its beginning must precede its end.
func Perfetto(r io.Reader) (Shown, error) {
	var file struct {
		Events []event `json:"traceEvents"`
	}
	if err := json.NewDecoder(r).Decode(&file); err != nil {
		return Shown{}, err
	}
	p := importer{processes: map[int]int{}, open: map[int][]Slice{}, begun: map[flowID]Slice{}}
	var timed []flowEnd
	for i, e := range file.Events {
		if err := p.place(e); err != nil {
			return Shown{}, fmt.Errorf("event %d: %w", i, err)
		}
		if e.Phase == "M" {
			continue
		}
		ns, err := nanoseconds(e.TS)
		if err != nil {
			return Shown{}, fmt.Errorf("event %d: %w", i, err)
		}
		timed = append(timed, flowEnd{e, ns})
	}
	slices.SortStableFunc(timed, func(a, b flowEnd) int { return cmp.Compare(a.ns, b.ns) })
	for _, e := range timed {
		if err := p.take(e); err != nil {
			return Shown{}, fmt.Errorf("%s at %d ns: %w", e.Name, e.ns, err)
		}
	}
	return p.shown, nil
}

// deepest is the maximum nesting depth of slices.
const deepest = 512

type flowID struct {
	id        int
	cat, name string
}

// importer is the state of the importer so far.
type importer struct {
	shown     Shown
	processes map[int]int     // by thread
	open      map[int][]Slice // by thread; the slice opened last comes last
	begun     map[flowID]Slice
}

func (p *importer) place(e event) error {
	if e.Process == nil || e.Thread == nil || min(*e.Process, *e.Thread) < 0 ||
		max(*e.Process, *e.Thread) > math.MaxUint32 {
		return fmt.Errorf("%q is of no process and thread", e.Name)
	}
	if e.Phase == "M" && *e.Thread == 0 { // metadata about a process has no thread
		return nil
	}
	if of, ok := p.processes[*e.Thread]; ok && of != *e.Process {
		return fmt.Errorf("thread %d is of the processes %d and %d", *e.Thread, of, *e.Process)
	}
	p.processes[*e.Thread] = *e.Process
	return nil
}

func (p *importer) take(e flowEnd) error {
	switch e.Phase {
	case "X":
		return p.slice(e)
	case "s", "f":
		return p.flow(e)
	}
	return fmt.Errorf("events of the phase %q are not shown", e.Phase)
}

func (p *importer) slice(e flowEnd) error {
	dur, err := nanoseconds(e.Dur)
	if err != nil {
		return err
	}
	s := Slice{Process: *e.Process, Thread: *e.Thread, Name: e.Name, StartNS: e.ns, EndNS: e.ns + dur,
		Args: map[string]int64{}}
	for name, value := range e.Args {
		if n, err := json.Number(value).Int64(); err == nil {
			s.Args[name] = n
		}
	}
	open := p.open[s.Thread]
	for len(open) > 0 && open[len(open)-1].EndNS <= s.StartNS {
		open = open[:len(open)-1]
	}
	if len(open) > 0 && open[len(open)-1].EndNS < s.EndNS {
		return fmt.Errorf("it ends at %d ns, after %s, which it is in", s.EndNS, open[len(open)-1].Name)
	}
	if len(open) == deepest {
		return fmt.Errorf("it is in %d others", deepest)
	}
	p.open[s.Thread] = append(open, s)
	p.shown.Slices++
	return nil
}

func (p *importer) flow(e flowEnd) error {
	open := p.open[*e.Thread]
	if len(open) == 0 || e.ID == nil {
		return fmt.Errorf("the flow has no id, or no slice was opened before it")
	}
	top, id := open[len(open)-1], flowID{*e.ID, e.Cat, e.Name}
	from, begun := p.begun[id]
	switch {
	case e.Phase == "s" && begun:
		return fmt.Errorf("flow %d begins twice", id.id)
	case e.Phase == "s":
		p.begun[id] = top
		return nil
	case !begun:
		return fmt.Errorf("flow %d ends before it has begun", id.id)
	case e.Binds != "e":
		return fmt.Errorf("flow %d is bound to the next slice", id.id)
	case from.Args["iteration"] != top.Args["iteration"] || from.Args["bucket"] != top.Args["bucket"]:
		return fmt.Errorf("flow %d leads from %s %v to %s %v", id.id, from.Name, from.Args, top.Name, top.Args)
	}
	p.shown.Flows++
	return nil
}
