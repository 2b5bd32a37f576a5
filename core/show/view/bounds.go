package view

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/internal/screen"
)

// The following limits keep a document small, so its page opens at once. An element takes about 20 bytes, but about
// 100 in timelines and epochs. Changes and logs have their own limits.
const (
	mostDetails = 160
	mostSpans   = 600    // in a lane
	allSpans    = 50_000 // in all lanes
	allDrawn    = 7_000  // spans and arrows of all timelines
	allEpochs   = 3_500  // in all runs
)

// bound removes data beyond the limits, and adds a note for each kind of removed data.
func (m *maker) bound() {
	m.boundEpochs()
	m.boundLanes()
	m.boundTimelines()
	if n := len(m.doc.Details); n > 0 && n < len(m.doc.Runs) {
		m.note(fmt.Sprintf("single iterations are shown for %s, %s", screen.Count(n, "run"), m.which))
	}
}

// boundLanes merges spans. Each merged span keeps its shortest and its longest iteration.
func (m *maker) boundLanes() {
	spans, most := 0, 1
	for _, d := range m.doc.Details {
		for _, l := range d.Lanes {
			spans += len(l.Seconds)
		}
	}
	by := (spans + allSpans - 1) / allSpans
	for k := range m.doc.Details {
		d := &m.doc.Details[k]
		d.Lanes = slices.Clone(d.Lanes) // another document may share them
		for i := range d.Lanes {
			if by > 1 {
				d.Lanes[i] = d.Lanes[i].merged(by)
			}
			most = max(most, d.Lanes[i].Each)
		}
	}
	if most > 1 {
		m.note(fmt.Sprintf(
			"iterations over time show only the shortest and the longest of each span of up to %d", most))
	}
}

// merged merges each group of by adjacent spans into one.
func (l Lane) merged(by int) Lane {
	out := Lane{Rank: l.Rank, Name: l.Name, Each: l.Each * by, Iterations: l.Iterations}
	for i := range l.Seconds {
		if i%by == 0 {
			out.Seconds, out.MinMS, out.MaxMS = append(out.Seconds, l.Seconds[i]), append(out.MinMS,
				l.MinMS[i]), append(out.MaxMS, l.MaxMS[i])
			continue
		}
		last := len(out.MinMS) - 1
		out.MinMS[last], out.MaxMS[last] = min(out.MinMS[last], l.MinMS[i]), max(out.MaxMS[last], l.MaxMS[i])
	}
	return out
}

// boundTimelines removes the timelines that exceed the limit. Timelines of median runs take precedence over others.
func (m *maker) boundTimelines() {
	room, left := allDrawn, 0
	medians := map[int]bool{}
	for _, c := range m.doc.Cells {
		medians[c.Median] = true
	}
	for _, median := range []bool{true, false} {
		for i := range m.doc.Details {
			t := m.doc.Details[i].Timeline
			if medians[i] != median || t == nil {
				continue
			}
			if drawn := t.drawn(); drawn <= room {
				room -= drawn
				continue
			}
			m.doc.Details[i].Timeline = nil
			left++
		}
	}
	if left > 0 {
		m.note(fmt.Sprintf("%s without a timeline, which psbench trace shows", screen.Count(left, "run")))
	}
}

func (t *Timeline) drawn() int {
	n := len(t.Arrows)
	for _, track := range t.Tracks {
		for _, lane := range track.Lanes {
			n += len(lane.Spans)
		}
	}
	return n
}
