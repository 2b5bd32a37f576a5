package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/screen"
)

// batchUpdate is the metric type in a batch-updating run. For the metric processing, only the start is an event.
const (
	batchUpdate = "batch_update_metric"
	processing  = "processing one batch"
)

// mostEvents is the maximum number of lines of a timeline.
const mostEvents = 60

// event is one line of a timeline.
type event struct {
	atNS int64 // monotonic clock
	text string
}

// timeline writes the events of trainers and servers in a batch-updating run, sorted by time and with wall-clock
// times. Then it writes the length of training.
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
	spent := training(r)
	write(spent.startNS, "start training")
	for _, e := range events[:min(len(events), mostEvents)] {
		write(e.atNS, e.text)
	}
	if rest := len(events) - mostEvents; rest > 0 {
		w.Line(2, fmt.Sprintf("and %d more events, which --json FILE keeps", rest))
	}
	write(spent.finishNS, "finish training")
	if r.Complete {
		w.Line(2, "time spent training: "+spent.text())
	}
}

// spent is the time of a batch-updating run, from the first fetch of the model to the last update. The field
// evaluatedNS is the part that went into evaluation.
type spent struct{ startNS, finishNS, evaluatedNS int64 }

// training returns the time of a batch-updating run, or nil for any other kind of run.
func training(r *result.Result) *spent {
	s := &spent{}
	for _, series := range r.Series {
		if series.Type != batchUpdate {
			continue
		}
		for m := range series.All() {
			end := m.StartNS
			if series.Name != processing {
				end += m.DurationNS
			}
			s.finishNS = max(s.finishNS, end)
		}
	}
	if s.finishNS == 0 {
		return nil
	}
	s.startNS = begin(r.Series)
	s.evaluatedNS = evaluationNS(r.Series, s.finishNS)
	return s
}

func (s *spent) text() string {
	text := fmt.Sprintf("%.6f s", float64(s.finishNS-s.startNS-s.evaluatedNS)/1e9)
	if s.evaluatedNS > 0 {
		text += fmt.Sprintf(", and evaluating: %.6f s", float64(s.evaluatedNS)/1e9)
	}
	return text
}

// evaluationNS returns the longest time, in ns, that one trainer spent on evaluation before the time beforeNS.
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

// begin returns the start of the earliest measurement.
func begin(series []*result.Series) int64 {
	earliest := int64(math.MaxInt64)
	for _, s := range series {
		for m := range s.All() {
			earliest = min(earliest, m.StartNS)
		}
	}
	return earliest
}

// batchUpdates returns the events of the measured batch updates. Simultaneous events keep the order of the series.
func batchUpdates(r *result.Result) []event {
	names := map[int]string{}
	for _, p := range r.Processes {
		if p.Measures() {
			names[p.Rank] = p.Name
		}
	}
	var events []event
	for _, s := range r.Series {
		if s.Type != batchUpdate {
			continue
		}
		add := func(atNS int64, text string) { events = append(events, event{atNS, names[s.Rank] + " " + text}) }
		for m := range s.All() {
			end := m.StartNS + m.DurationNS
			switch s.Name {
			case "fetching the model":
				add(end, "got the model")
			case processing:
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
