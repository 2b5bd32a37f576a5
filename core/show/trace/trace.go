// Package trace writes a timeline in the Trace Event Format of Chrome, which ui.perfetto.dev and chrome://tracing
// open: a process for each rank, a thread for each lane, a slice for each span, and a flow for each arrow.
package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/record/timeline"
)

// Write writes a timeline of r. Times are in µs with three decimals, relative to the timeline's start. Write streams
// the events and keeps none in memory.
func Write(w io.Writer, r *result.Result, t *timeline.Timeline) error {
	e := &events{w: bufio.NewWriterSize(w, 1<<16), bytes: bytesOf(r)}
	head, err := json.Marshal(about(r, t))
	if err != nil {
		return err
	}
	e.text(`{"displayTimeUnit":"ms","otherData":`)
	e.text(string(head))
	e.text(`,"traceEvents":[`)
	threads := e.names(t)
	for i, track := range t.Tracks {
		for k, lane := range track.Lanes {
			if lane.Name == timeline.Compute && k == 0 {
				e.iterations(threads[i][k], lane.Spans)
				continue
			}
			for _, s := range lane.Spans {
				e.slice(threads[i][k], lane.Name, s)
			}
		}
	}
	id := 0
	for _, a := range t.Arrows {
		id += e.flow(t, threads, a, id+1)
	}
	e.text("\n]}\n")
	return e.w.Flush()
}

// about returns the trace's metadata about its run.
func about(r *result.Result, t *timeline.Timeline) map[string]string {
	first, last := int64(-1), int64(-1)
	for _, track := range t.Tracks {
		for _, lane := range track.Lanes {
			for _, s := range lane.Spans {
				if s.Iteration >= 0 && (first < 0 || s.Iteration < first) {
					first = s.Iteration
				}
				last = max(last, s.Iteration)
			}
		}
	}
	return map[string]string{
		"psbench": r.Environment.Psbench, "transport": r.Transport, "pass": r.Pass,
		"iterations": fmt.Sprintf("%d..%d", first, last),
		"start":      r.Started.Add(time.Duration(t.StartNS - r.StartedNS)).UTC().Format(time.RFC3339Nano),
	}
}

// bytesOf returns the sizes of dense buckets. The number of transmitted rows of a sparse bucket is unknown.
func bytesOf(r *result.Result) map[int]int {
	sizes := map[int]int{}
	for _, b := range r.Buckets {
		if !b.Sparse {
			sizes[b.Index] = 4 * b.Elements
		}
	}
	return sizes
}

// thread identifies the place of slices: a lane of a rank.
type thread struct{ process, id int }

// events writes trace events.
type events struct {
	w     *bufio.Writer // keeps the first error
	bytes map[int]int   // by bucket
	any   bool          // an event has been written
	line  []byte
}

func (e *events) text(s string) { _, _ = e.w.WriteString(s) }

// begin starts an event. Thread numbers are unique across processes, because some programs ignore the process when
// they look up a thread.
func (e *events) begin(phase string, t thread) {
	if e.any {
		e.text(",")
	}
	e.any = true
	e.line = fmt.Appendf(e.line[:0], "\n{\"ph\":%q,\"pid\":%d,\"tid\":%d", phase, t.process, t.id)
}

// name writes a text, which may come from a plugin.
func (e *events) name(key, name string) {
	e.line = append(e.line, ',')
	e.string(key, name)
}

func (e *events) string(key, text string) {
	quoted, _ := json.Marshal(text) // never fails for a string
	e.line = append(fmt.Appendf(e.line, "%q:", key), quoted...)
}

func (e *events) time(key string, ns int64) {
	e.line = fmt.Appendf(e.line, ",%q:%d.%03d", key, ns/1000, ns%1000)
}

func (e *events) end() {
	e.line = append(e.line, '}')
	_, _ = e.w.Write(e.line)
}

// names writes the names and the order of processes and threads. It returns the threads, indexed by track and lane.
func (e *events) names(t *timeline.Timeline) [][]thread {
	threads := make([][]thread, len(t.Tracks))
	id := 0
	for i, track := range t.Tracks {
		process := i + 1 // operating systems use 0 for the idle process
		e.meta(thread{process, 0}, "process_name", track.Name)
		e.order(thread{process, 0}, "process_sort_index", i)
		for k, lane := range track.Lanes {
			id++
			threads[i] = append(threads[i], thread{process, id})
			e.meta(threads[i][k], "thread_name", lane.Name)
			e.order(threads[i][k], "thread_sort_index", k)
		}
	}
	return threads
}

func (e *events) meta(t thread, what, name string) {
	e.begin("M", t)
	e.name("name", what)
	e.line = append(e.line, `,"args":{`...)
	e.string("name", name)
	e.line = append(e.line, '}')
	e.end()
}

func (e *events) order(t thread, what string, place int) {
	e.begin("M", t)
	e.name("name", what)
	e.line = fmt.Appendf(e.line, `,"args":{"sort_index":%d}`, place)
	e.end()
}

// iterations writes the parts of iterations. It encloses the parts of an iteration in a slice for the whole
// iteration.
func (e *events) iterations(t thread, spans []timeline.Span) {
	for len(spans) > 0 {
		count := 1
		for count < len(spans) && spans[count].Iteration == spans[0].Iteration &&
			spans[count].Name != timeline.Evaluation {
			count++
		}
		if spans[0].Iteration >= 0 && spans[0].Name != timeline.Evaluation {
			whole := timeline.Span{
				Name: fmt.Sprintf("iteration %d", spans[0].Iteration), Iteration: spans[0].Iteration, Bucket: -1,
				StartNS: spans[0].StartNS, EndNS: spans[0].EndNS,
			}
			for _, s := range spans[1:count] {
				whole.EndNS = max(whole.EndNS, s.EndNS)
			}
			e.slice(t, timeline.Compute, whole)
		}
		for _, s := range spans[:count] {
			e.slice(t, timeline.Compute, s)
		}
		spans = spans[count:]
	}
}

// slice writes a span as a slice.
func (e *events) slice(t thread, lane string, s timeline.Span) {
	e.begin("X", t)
	e.name("name", s.Name)
	e.name("cat", lane)
	e.time("ts", s.StartNS)
	e.time("dur", s.EndNS-s.StartNS)
	e.line = append(e.line, `,"args":{`...)
	before := ""
	number := func(key string, n int64) {
		e.line = fmt.Appendf(e.line, "%s%q:%d", before, key, n)
		before = ","
	}
	if s.Iteration >= 0 {
		number("iteration", s.Iteration)
	}
	if s.Bucket >= 0 {
		number("bucket", int64(s.Bucket))
		if size, ok := e.bytes[s.Bucket]; ok {
			number("bytes", int64(size))
		}
	}
	e.line = append(e.line, '}')
	e.end()
}

// flow writes an arrow as a flow and returns 1. It writes nothing and returns 0 if the arrow ends before the slice of
// its beginning starts.
func (e *events) flow(t *timeline.Timeline, threads [][]thread, a timeline.Arrow, id int) int {
	from, to := within(t, a.From), within(t, a.To)
	if from = min(from, to); from < spanOf(t, a.From).StartNS {
		return 0
	}
	name := flowName(t.Tracks[a.From.Track].Kind, t.Tracks[a.To.Track].Kind, spanOf(t, a.From).Bucket >= 0)
	for _, end := range []struct {
		phase string
		place timeline.Place
		ns    int64
	}{{"s", a.From, from}, {"f", a.To, to}} {
		e.begin(end.phase, threads[end.place.Track][end.place.Lane])
		e.name("name", name)
		e.line = fmt.Appendf(e.line, `,"cat":"flow","id":%d`, id)
		if end.phase == "f" {
			e.line = append(e.line, `,"bp":"e"`...)
		}
		e.time("ts", end.ns)
		e.end()
	}
	return 1
}

// within returns the time of a place, limited to before the end of its span, because a flow attaches to a slice that
// is still open.
func within(t *timeline.Timeline, p timeline.Place) int64 {
	s := spanOf(t, p)
	return max(s.StartNS, min(p.AtNS, s.EndNS-1))
}

func spanOf(t *timeline.Timeline, p timeline.Place) timeline.Span {
	return t.Tracks[p.Track].Lanes[p.Lane].Spans[p.Span]
}

// flowName names the message from one rank to another.
func flowName(from, to string, bucket bool) string {
	switch {
	case from == to:
		return "all-reduce"
	case from == "server":
		return "answer"
	case bucket:
		return "push"
	default:
		return "call"
	}
}
