package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
	start, finish := begin(r.Samples), events[len(events)-1].atNS
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
	evaluatedNS := evaluationNS(r.Samples, finish)
	spent := fmt.Sprintf("time spent training: %.6f s", float64(finish-start-evaluatedNS)/1e9)
	if evaluatedNS > 0 {
		spent += fmt.Sprintf(", and evaluating: %.6f s", float64(evaluatedNS)/1e9)
	}
	w.Line(2, spent)
}

// evaluationNS is how long the trainer with the longest evaluations before a time evaluated.
func evaluationNS(samples []result.Sample, beforeNS int64) int64 {
	byRank, longest := map[int]int64{}, int64(0)
	for _, s := range samples {
		if s.Type == "evaluation_metric" && s.StartNS < beforeNS {
			byRank[s.Rank] += s.DurationNS
			longest = max(longest, byRank[s.Rank])
		}
	}
	return longest
}

// begin is the start of the earliest sample.
func begin(samples []result.Sample) int64 {
	return slices.MinFunc(samples, func(a, b result.Sample) int { return cmp.Compare(a.StartNS, b.StartNS) }).StartNS
}

// batchUpdates are the events that the samples of batch updates stand for. Events of
// one moment keep the order of the samples.
func batchUpdates(r *result.Result) []event {
	names := map[int]string{}
	for _, p := range r.Processes {
		if p.Measures() {
			names[p.Rank] = p.Name
		}
	}
	var events []event
	for _, s := range r.Samples {
		if s.Type != "batch_update_metric" {
			continue
		}
		add := func(atNS int64, text string) { events = append(events, event{atNS, names[s.Rank] + " " + text}) }
		end := s.StartNS + s.DurationNS
		switch s.Name {
		case "fetching the model":
			add(end, "got the model")
		case "processing one batch":
			add(s.StartNS, s.Name)
		case "reporting grads":
			add(s.StartNS, s.Name)
			add(end, "got updated model")
		case "got update":
			updates, size, _ := strings.Cut(s.Key, ",")
			add(end, fmt.Sprintf("got %s/%s updates", updates, size))
		case "updated model":
			add(end, s.Name)
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.atNS, b.atNS) })
	return events
}
