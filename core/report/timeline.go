package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/core/screen"
)

// mostEvents bounds the lines of a timeline.
const mostEvents = 60

// event is one line of a timeline.
type event struct {
	atNS int64 // monotonic clock
	text string
}

// timeline writes what trainers and servers of a batch-updating run did, in time order
// and with the wall-clock time of each event, and then how long training took.
func timeline(w *screen.Page, r *result.Result) {
	events := batchUpdates(r)
	if len(events) == 0 {
		return
	}
	what := "measured pass"
	if r.Pass == result.WarmUp {
		what = result.WarmUp
	}
	w.Line(0, "")
	w.Line(0, fmt.Sprintf("timeline of the %s (UTC)", what))
	write := func(atNS int64, text string) {
		at := r.Started.Add(time.Duration(atNS - r.StartedNS)).UTC()
		w.Line(16, at.Format("15:04:05.000000")+" "+text)
	}
	start, finish := begin(r.Series), events[len(events)-1].atNS
	write(start, "start training")
	for _, e := range events[:min(len(events), mostEvents)] {
		write(e.atNS, e.text)
	}
	if rest := len(events) - mostEvents; rest > 0 {
		w.Line(2, fmt.Sprintf("and %d more events, which --json FILE keeps", rest))
	}
	write(finish, "finish training")
	if !r.Complete {
		return
	}
	evaluatedNS := evaluationNS(r.Series, finish)
	spent := fmt.Sprintf("time spent training: %.6f s", float64(finish-start-evaluatedNS)/1e9)
	if evaluatedNS > 0 {
		spent += fmt.Sprintf(", and evaluating: %.6f s", float64(evaluatedNS)/1e9)
	}
	w.Line(2, spent)
}

// evaluationNS is how long the trainer with the longest evaluations before a time evaluated.
func evaluationNS(series []*result.Series, beforeNS int64) int64 {
	byRank, longest := map[int]int64{}, int64(0)
	for _, s := range series {
		if s.Type != "evaluation_metric" {
			continue
		}
		for m := range s.All() {
			if m.StartNS < beforeNS {
				byRank[s.Rank] += m.DurationNS
			}
		}
		longest = max(longest, byRank[s.Rank])
	}
	return longest
}

// begin is the start of the earliest measurement.
func begin(series []*result.Series) int64 {
	earliest := int64(math.MaxInt64)
	for _, s := range series {
		for m := range s.All() {
			earliest = min(earliest, m.StartNS)
		}
	}
	return earliest
}

// batchUpdates are the events that the measurements of batch updates stand for. Events of
// one moment keep the order of the series.
func batchUpdates(r *result.Result) []event {
	names := map[int]string{}
	for _, p := range r.Processes {
		if p.Measures() {
			names[p.Rank] = p.Name
		}
	}
	var events []event
	for _, s := range r.Series {
		if s.Type != "batch_update_metric" {
			continue
		}
		add := func(atNS int64, text string) { events = append(events, event{atNS, names[s.Rank] + " " + text}) }
		for m := range s.All() {
			end := m.StartNS + m.DurationNS
			switch s.Name {
			case "fetching the model":
				add(end, "got the model")
			case "processing one batch":
				add(m.StartNS, s.Name)
			case "reporting grads":
				add(m.StartNS, s.Name)
				add(end, "got updated model")
			case "got update":
				add(end, fmt.Sprintf("got %d/%d updates", m.Key.A, m.Key.B))
			case "updated model":
				add(end, s.Name)
			}
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.atNS, b.atNS) })
	return events
}
