// Package tracetest reads traces strictly, for tests.
package tracetest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
)

// Trace is the content of a trace.
type Trace struct {
	Processes map[int]string
	Threads   map[[2]int]string // by process and thread
	Slices    []Slice
	Flows     map[string]int // number of flows by name
}

// Slice is a slice of a thread. All times are in ns.
type Slice struct {
	Process, Thread int
	Name            string
	StartNS, EndNS  int64
	Args            map[string]int64
}

// event is one event of a trace, with every allowed field.
type event struct {
	Phase   string                     `json:"ph"`
	Process *int                       `json:"pid"`
	Thread  *int                       `json:"tid"`
	Name    string                     `json:"name"`
	Cat     string                     `json:"cat"`
	TS      json.Number                `json:"ts"`
	Dur     json.Number                `json:"dur"`
	ID      *int                       `json:"id"`
	Binds   string                     `json:"bp"`
	Args    map[string]json.RawMessage `json:"args"`
}

// Read reads a trace and returns an error if it violates the format. The slices of a thread must nest. A flow must
// have a beginning and a later or simultaneous end, both inside slices of the same bucket. Times must be in µs, in
// whole ns, and not negative. Every process and thread must have a name.
func Read(r io.Reader) (*Trace, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var file struct {
		DisplayTimeUnit string            `json:"displayTimeUnit"`
		OtherData       map[string]string `json:"otherData"`
		Events          []event           `json:"traceEvents"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the trace")
	}
	if file.DisplayTimeUnit != "ms" {
		return nil, fmt.Errorf("the unit shown is %q", file.DisplayTimeUnit)
	}
	t := &Trace{Processes: map[int]string{}, Threads: map[[2]int]string{}, Flows: map[string]int{}}
	ends := map[int]map[string]flowEnd{}
	for i, e := range file.Events {
		if err := t.take(e, ends); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
	}
	if err := t.nest(); err != nil {
		return nil, err
	}
	return t, t.pair(ends)
}

// flowEnd is the beginning or the end of a flow.
type flowEnd struct {
	event
	ns int64
}

func (t *Trace) take(e event, ends map[int]map[string]flowEnd) error {
	if e.Process == nil || e.Thread == nil || *e.Process < 1 || e.Name == "" {
		return fmt.Errorf("%+v has no process, thread or name", e)
	}
	if e.Phase == "M" {
		return t.meta(e)
	}
	if e.Cat == "" || t.Threads[[2]int{*e.Process, *e.Thread}] == "" || t.Processes[*e.Process] == "" {
		return fmt.Errorf("%s has no category, or its thread has no name", e.Name)
	}
	ns, err := nanoseconds(e.TS)
	if err != nil {
		return err
	}
	switch e.Phase {
	case "X":
		dur, err := nanoseconds(e.Dur)
		s := Slice{Process: *e.Process, Thread: *e.Thread, Name: e.Name, StartNS: ns, EndNS: ns + dur,
			Args: map[string]int64{}}
		for name, value := range e.Args {
			var n int64
			if err := json.Unmarshal(value, &n); err != nil || n < 0 ||
				!slices.Contains([]string{"iteration", "bucket", "bytes"}, name) {
				return fmt.Errorf("%s has the argument %s: %s", e.Name, name, value)
			}
			s.Args[name] = n
		}
		t.Slices = append(t.Slices, s)
		return err
	case "s", "f":
		if e.ID == nil || e.Dur != "" || (e.Phase == "f") != (e.Binds == "e") {
			return fmt.Errorf("flow %s has no id, or is not bound to the slice that goes on", e.Name)
		}
		if ends[*e.ID] == nil {
			ends[*e.ID] = map[string]flowEnd{}
		}
		if _, twice := ends[*e.ID][e.Phase]; twice {
			return fmt.Errorf("flow %d has two of %q", *e.ID, e.Phase)
		}
		ends[*e.ID][e.Phase] = flowEnd{e, ns}
		return nil
	}
	return fmt.Errorf("unknown phase %q", e.Phase)
}

func (t *Trace) meta(e event) error {
	key := "name"
	if strings.HasSuffix(e.Name, "_sort_index") {
		key = "sort_index"
	}
	if len(e.Args) != 1 || len(e.Args[key]) == 0 {
		return fmt.Errorf("%s has the arguments %v", e.Name, e.Args)
	}
	thread := [2]int{*e.Process, *e.Thread}
	var name string
	switch e.Name {
	case "process_name":
		if t.Processes[*e.Process] != "" {
			return fmt.Errorf("process %d has two names", *e.Process)
		}
		err := json.Unmarshal(e.Args[key], &name)
		t.Processes[*e.Process] = name
		return err
	case "thread_name":
		for other := range t.Threads {
			if other[1] == *e.Thread {
				return fmt.Errorf("there are two threads %d", *e.Thread)
			}
		}
		err := json.Unmarshal(e.Args[key], &name)
		t.Threads[thread] = name
		return err
	case "process_sort_index", "thread_sort_index":
		return nil
	}
	return fmt.Errorf("unknown metadata %q", e.Name)
}

// nanoseconds reads a time in µs.
func nanoseconds(n json.Number) (int64, error) {
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return 0, fmt.Errorf("%q is no time", n)
	}
	if r.Mul(r, big.NewRat(1000, 1)); !r.IsInt() || r.Sign() < 0 || !r.Num().IsInt64() {
		return 0, fmt.Errorf("%s is no time in µs of whole ns, or is negative", n)
	}
	return r.Num().Int64(), nil
}

// nest sorts the slices by thread and start. It requires that the slices of a thread nest or do not overlap.
func (t *Trace) nest() error {
	slices.SortStableFunc(t.Slices, func(a, b Slice) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.StartNS, b.StartNS), cmp.Compare(b.EndNS, a.EndNS))
	})
	var open []Slice
	for _, s := range t.Slices {
		for len(open) > 0 && (open[len(open)-1].Thread != s.Thread || open[len(open)-1].EndNS <= s.StartNS) {
			open = open[:len(open)-1]
		}
		if len(open) > 0 && open[len(open)-1].EndNS < s.EndNS {
			return fmt.Errorf("%+v overlaps %+v", s, open[len(open)-1])
		}
		open = append(open, s)
	}
	return nil
}

// pair requires that every flow has a beginning and an end.
func (t *Trace) pair(ends map[int]map[string]flowEnd) error {
	for id, pair := range ends {
		from, to := pair["s"], pair["f"]
		if len(pair) != 2 || from.Name != to.Name || from.Cat != to.Cat || from.ns > to.ns {
			return fmt.Errorf("flow %d has not a beginning and then an end: %+v", id, pair)
		}
		if *from.Process == *to.Process {
			return fmt.Errorf("flow %d leads from process %d to itself", id, *from.Process)
		}
		a, b := t.at(from), t.at(to)
		if len(a) == 0 || len(b) == 0 {
			return fmt.Errorf("flow %d, %s, from %d to %d ns is bound to no slice", id, from.Name, from.ns, to.ns)
		}
		if !slices.ContainsFunc(a, func(x Slice) bool {
			return slices.ContainsFunc(b, func(y Slice) bool {
				return x.Args["iteration"] == y.Args["iteration"] && x.Args["bucket"] == y.Args["bucket"]
			})
		}) {
			return fmt.Errorf("flow %d connects different buckets: %+v and %+v", id, a, b)
		}
		t.Flows[from.Name]++
	}
	return nil
}

// at returns the slices of the thread that are open at the time of e.
func (t *Trace) at(e flowEnd) (found []Slice) {
	first, _ := slices.BinarySearchFunc(t.Slices, *e.Thread,
		func(s Slice, thread int) int { return cmp.Compare(s.Thread, thread) })
	for _, s := range t.Slices[first:] {
		if s.Thread != *e.Thread || s.StartNS > e.ns {
			break
		}
		if e.ns < s.EndNS || s.StartNS == s.EndNS && s.StartNS == e.ns {
			found = append(found, s)
		}
	}
	return found
}
