package view

import (
	"fmt"
	"slices"

	"github.com/psbench/psbench/core/judge"
	"github.com/psbench/psbench/core/study"
)

// mostChanges bounds the changes of a document, of all metrics and baselines together: each is some 100 bytes.
const mostChanges = 9_000

// judge adds what the runs come to by each metric, against each baseline that there is room for. The metric of
// the document comes first, and against the study's own baseline all metrics are judged.
func (m *maker) judge() {
	m.doc.Judged = map[string]Judged{}
	if len(m.study.Cells) == 0 {
		return
	}
	var baselines []int
	for i, c := range m.study.Cells {
		if len(c.Runs) > 0 && i != m.study.Baseline {
			baselines = append(baselines, i)
		}
	}
	names := m.names()
	room := mostChanges - (len(baselines)+1)*len(names)
	all := (len(baselines) + 1) * len(baselines) // against every other baseline
	first := slices.Index(names, m.metric.Name)
	order := append([]string{m.metric.Name}, slices.Delete(slices.Clone(names), first, first+1)...)
	few := 0
	for _, name := range order {
		offered := []int{m.study.Baseline}
		switch {
		case all <= room:
			offered = append(offered, baselines...)
			room -= all
		case len(baselines) > 0:
			few++
		}
		m.doc.Judged[name] = m.judged(name, offered)
	}
	if few > 0 {
		m.note(fmt.Sprintf("by %d of %d metrics cells are compared with the baseline alone, since there are so many", few, len(names)))
	}
}

func (m *maker) judged(name string, baselines []int) Judged {
	metric, err := study.MetricOf(name)
	if err != nil { // which no metric of the document is
		return Judged{}
	}
	out := Judged{Against: map[int][]*Change{}}
	by := m.study.Judge(metric)
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
		if v.NoFloor == nil {
			out.Floor = &v.Floor.Change
		}
	}
	return out
}

// estimateOf is nil of a cell without runs of its own.
func estimateOf(r study.Row) *Estimate {
	if len(r.Cell.Runs) == 0 {
		return nil
	}
	e := &Estimate{N: r.Estimate.N, Median: &r.Estimate.Median, Spread: r.Estimate.Spread}
	if r.Estimate.HasInterval {
		e.Low, e.High = &r.Estimate.Low, &r.Estimate.High
	}
	return e
}

func changeOf(c judge.Change) *Change {
	relative := func(x float64) *float64 { x = rounded(x, 6); return &x }
	return &Change{
		Change: relative(c.Change), Low: relative(c.Low), High: relative(c.High), P: relative(c.Adjusted), Verdict: c.Verdict, Needed: c.Needed,
	}
}

// note adds a sentence on what was left out.
func (m *maker) note(sentence string) {
	if m.doc.Sampling != "" {
		m.doc.Sampling += "; "
	}
	m.doc.Sampling += sentence
}
