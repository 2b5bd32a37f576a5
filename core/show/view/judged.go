package view

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/psbench/psbench/core/study/judge"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/core/study/verdict"
	"github.com/psbench/psbench/core/study/words"
	"github.com/psbench/psbench/internal/screen"
)

// How many changes there are at most, each of some 100 bytes: by the metric of the document, and by all others
// together.
const (
	ownChanges   = 10_000
	otherChanges = 7_500
)

// judge adds what the runs come to by each metric. By the metric of the document each cell is a baseline, or of
// very many the best ones. By others each is as long as there is room. Against the study's own baseline
// all are judged by all metrics.
func (m *maker) judge() {
	m.doc.Judged = map[string]Judged{}
	if len(m.study.Cells) == 0 {
		return
	}
	baselines := m.baselines()
	pairs := len(baselines) * len(baselines)
	own := baselines[:min(len(baselines), max(1, ownChanges/len(baselines)))]
	if n := len(baselines) - len(own); n > 0 {
		m.note(fmt.Sprintf("cells are compared with the baseline and the best %d alone", len(own)-1))
	}
	m.doc.Judged[m.metric.Name] = m.judged(m.metric.Name, own)
	room, few := otherChanges, 0
	for _, metric := range m.doc.Metrics {
		if metric.Name == m.metric.Name {
			continue
		}
		offered := baselines
		if room < pairs && len(baselines) > 1 {
			offered = baselines[:1]
			few++
		}
		room -= len(offered) * len(baselines)
		m.doc.Judged[metric.Name] = m.judged(metric.Name, offered)
	}
	if few > 0 {
		m.note(fmt.Sprintf("by %d of %s cells are compared with the baseline alone", few,
			screen.Count(len(m.doc.Metrics), "metric")))
	}
}

// baselines are the cells that have runs of their own, without the A/A cell: the study's baseline, whether or not
// it has any, and then the others, the best first. Of those that stand for the same along Document.Within there is one.
func (m *maker) baselines() []int {
	all := []int{m.study.Baseline}
	medians := map[int]float64{}
	for i, c := range m.study.Cells {
		if len(c.Runs) > 0 &&
			!slices.ContainsFunc(all, func(at int) bool { return m.study.Alike(m.study.Cells[at], c) }) {
			all = append(all, i)
			medians[i] = judge.Of(c.Of(m.metric.Name)).Median
		}
	}
	slices.SortStableFunc(all[1:], func(a, b int) int {
		x, y := medians[a], medians[b]
		if m.metric.Better == model.Lower {
			x, y = -x, -y
		}
		return -cmp.Compare(x, y) // NaN sorts last
	})
	return all
}

func (m *maker) judged(name string, baselines []int) Judged {
	metric, err := model.MetricOf(name)
	if err != nil { // no metric of the document fails
		return Judged{}
	}
	out := Judged{Against: map[int][]*Change{}}
	by := verdict.NewJudge(m.study, metric)
	for i, baseline := range baselines {
		v := by.Against(baseline)
		rows := v.Rows
		if v.Again != nil {
			rows = append(rows[:len(rows):len(rows)], *v.Again)
		}
		changes := make([]*Change, len(rows))
		for k, r := range rows {
			if i == 0 {
				out.Estimates = append(out.Estimates, estimateOf(r))
			}
			if r.Compared {
				changes[k] = changeOf(r.Change)
			}
		}
		out.Against[baseline] = changes
		if out.FloorText = words.FloorText(v); v.NoFloor == nil && v.FloorIsShare() {
			out.Floor = &v.Floor.Change
		}
	}
	return out
}

// estimateOf returns nil for a cell without runs of its own.
func estimateOf(r verdict.Row) *Estimate {
	if len(r.Cell.Runs) == 0 {
		return nil
	}
	e := &Estimate{N: r.Estimate.N, Median: &r.Estimate.Median, Spread: r.Estimate.Spread}
	if !r.Estimate.SpreadIsShare() {
		e.Deviation = &r.Estimate.Deviation
	}
	if r.Estimate.HasInterval {
		e.Low, e.High = &r.Estimate.Low, &r.Estimate.High
	}
	return e
}

func changeOf(c judge.Change) *Change {
	out := &Change{Change: &c.Change, Low: &c.Low, High: &c.High, P: &c.Adjusted, Verdict: c.Verdict, Needed: c.Needed}
	if d := c.Difference; d != nil {
		out.Change, out.Low, out.High, out.Difference = nil, nil, nil, &Difference{&d.Change, &d.Low, &d.High}
	}
	return out
}

// note adds a sentence on omitted content.
func (m *maker) note(sentence string) {
	if m.doc.Sampling != "" {
		m.doc.Sampling += "; "
	}
	m.doc.Sampling += sentence
}
