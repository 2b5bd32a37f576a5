package view

import (
	"slices"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/model"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/screen"
)

// addDetails reads the median and the worst run of each cell, in parallel on all cores.
func (m *maker) addDetails() {
	if m.doc.Comm != nil {
		return
	}
	runs := m.detailed()
	details := make([]*Detail, len(runs))
	errs := model.Each(len(runs), func(i int) (err error) {
		details[i], err = m.detail(runs[i])
		return err
	})
	missing := 0
	for i, err := range errs {
		if err != nil {
			if missing++; missing == 1 { // the other errors likely have the same cause
				m.doc.Warnings = append(m.doc.Warnings, "a run has no details: "+quote.Message(err.Error()))
			}
			continue
		}
		m.details[runs[i]] = details[i]
		detail := *details[i]
		detail.Run = m.places[runs[i]]
		m.doc.Runs[detail.Run].Detail = len(m.doc.Details)
		m.doc.Details = append(m.doc.Details, detail)
	}
	if missing > 1 {
		m.doc.Warnings = append(m.doc.Warnings, screen.Count(missing-1, "other run")+" without details, too")
	}
	for i, c := range m.cells {
		if median, worst := m.chosen(c); median != nil {
			m.doc.Cells[i].Median, m.doc.Cells[i].Worst = m.doc.Runs[m.places[median]].Detail,
				m.doc.Runs[m.places[worst]].Detail
		}
	}
}

// detailed returns the runs that get details, cell by cell. With very many cells the worst runs get none. With even
// more cells, only the first cells get details.
func (m *maker) detailed() []*model.Run {
	var runs, medians []*model.Run
	for _, c := range m.cells {
		median, worst := m.chosen(c)
		if median == nil {
			continue
		}
		medians, runs = append(medians, median), append(runs, median)
		if worst != median {
			runs = append(runs, worst)
		}
	}
	m.which = "the median and the worst one of each cell"
	if len(runs) > mostDetails {
		runs, m.which = medians, "the median one of each cell"
	}
	if len(runs) > mostDetails {
		runs, m.which = medians[:mostDetails], "the median one of each of the first cells"
	}
	return runs
}

// mostValue is the maximum length of a configuration value in bytes. A value may contain whole data sets.
const mostValue = 1 << 10

// detail reads a run. It reuses the detail of an earlier document.
func (m *maker) detail(run *model.Run) (*Detail, error) {
	if d := m.before[run]; d != nil {
		return d, nil
	}
	r, err := folder.Read(run.Folder)
	if err != nil {
		return nil, err
	}
	d := &Detail{
		Command: slices.Clone(r.Command), Plugins: r.Plugins, Warnings: run.Warnings, Checks: r.Checks, Noise: r.Noise,
		Hosts:        hostsOf(r),
		ArrivalOrder: r.ArrivalOrder, Lanes: lanesOf(r, mostSpans), Quantiles: quantilesOf(r), Timeline: timelineOf(r),
	}
	for i, word := range d.Command {
		d.Command[i] = shortened(word, mostValue)
	}
	for _, v := range r.Config {
		d.Config = append(d.Config, Value{v.Key, shortened(v.Text(), mostValue), v.Origin})
	}
	for _, p := range r.Processes {
		d.Processes = append(d.Processes,
			Process{p.Name, p.Rank, p.Kind, p.Key, p.Plugin, p.StartMS, p.RSSMiB, factsOf(p.Facts),
				whereOf(r.Placement, p.Name)})
	}
	d.breakDown(r)
	return d, nil
}

// breakDown adds the parts of iterations and of buckets.
func (d *Detail) breakDown(r *result.Result) {
	b := breakdown.Of(r)
	if b == nil {
		return
	}
	mean := func(ns int64) float64 { return rounded(b.MeanMS(ns), digits) }
	for _, p := range append(b.Parts, breakdown.Part{Name: breakdown.UnaccountedFor, TotalNS: b.RestNS()}) {
		d.Parts = append(d.Parts, Part{p.Name, mean(p.TotalNS)})
	}
	for _, k := range breakdown.Buckets(r) {
		d.Buckets = append(d.Buckets,
			Bucket{k.Index, mean(k.HookNS), mean(k.WaitingNS), mean(k.TransferNS), mean(k.ReductionNS),
				mean(k.CodecNS)})
	}
}
