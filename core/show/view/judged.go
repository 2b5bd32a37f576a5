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

// These are the maximum numbers of changes: by the document's metric, and by all other metrics together. A change
// takes about 100 bytes.
const (
	ownChanges   = 10_000
	otherChanges = 7_500
)

// judge adds the estimates and comparisons by each metric. By the document's metric every cell is a baseline, or only
// the best cells if there are very many. By other metrics every cell is a baseline while there is room. The study's
// own baseline is always included.
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

// baselines returns the cells with their own runs, except the A/A cell. The study's baseline comes first, even
// without runs. The others follow, best first. Cells that differ only along Document.Within count once.
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
	if err != nil { // never happens for a metric of the document
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

// estimateOf returns the estimate of a cell, or nil if the cell has no runs of its own.
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

// note adds a sentence about omitted content to Document.Sampling.
func (m *maker) note(sentence string) {
	if m.doc.Sampling != "" {
		m.doc.Sampling += "; "
	}
	m.doc.Sampling += sentence
}
