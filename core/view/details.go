package view

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/psbench/psbench/core/breakdown"
	"github.com/psbench/psbench/core/folder"
	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/core/screen"
	"github.com/psbench/psbench/core/study"
	"github.com/psbench/psbench/internal/quote"
)

// How many spans a lane has at most, and all lanes of a document together.
const (
	mostSpans = 600
	allSpans  = 50_000
)

// addDetails reads the median and the worst run of each cell, a core each at once.
func (m *maker) addDetails() {
	if m.doc.Comm != nil {
		return
	}
	var runs []*study.Run
	for _, c := range m.cells {
		for _, r := range picked(m.chosen(c)) {
			if !slices.Contains(runs, r) {
				runs = append(runs, r)
			}
		}
	}
	most := m.spans(runs)
	details := make([]*Detail, len(runs))
	errs := each(len(runs), func(i int) (err error) {
		details[i], err = m.detail(runs[i], most)
		return err
	})
	for i, err := range errs {
		if err != nil {
			m.doc.Warnings = append(m.doc.Warnings, "a run has no details: "+quote.Message(err.Error()))
			continue
		}
		m.doc.Runs[m.places[runs[i]]].Detail = len(m.doc.Details)
		m.doc.Details = append(m.doc.Details, *details[i])
	}
	for i, c := range m.cells {
		median, worst := m.chosen(c)
		if median != nil {
			m.doc.Cells[i].Median, m.doc.Cells[i].Worst = m.doc.Runs[m.places[median]].Detail, m.doc.Runs[m.places[worst]].Detail
		}
	}
	m.noteSampling()
}

func picked(median, worst *study.Run) []*study.Run {
	if median == nil {
		return nil
	}
	return []*study.Run{median, worst}
}

// spans is how many a lane may have: fewer with more lanes.
func (m *maker) spans(runs []*study.Run) int {
	const lanes = 8 // of a run, since that is not known before it is read
	return max(60, min(mostSpans, allSpans/max(1, lanes*len(runs))))
}

// detail reads one run.
func (m *maker) detail(run *study.Run, most int) (*Detail, error) {
	r, err := folder.Read(run.Folder)
	if err != nil {
		return nil, err
	}
	d := &Detail{
		Run: m.places[run], Command: r.Command, Plugins: r.Plugins, Warnings: run.Warnings, Checks: r.Checks, Noise: r.Noise,
		Lanes: lanesOf(r, most), Quantiles: quantilesOf(r), Timeline: timelineOf(r),
	}
	for _, v := range r.Config {
		d.Config = append(d.Config, Value{v.Key, textOf(v.Value), v.Origin})
	}
	for _, p := range r.Processes {
		d.Processes = append(d.Processes, Process{p.Name, p.Rank, p.Kind, p.Key, p.Plugin, p.StartMS, p.RSSMiB, factsOf(p.Facts)})
	}
	d.breakDown(r)
	return d, nil
}

// breakDown says what the iterations are made of.
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
		d.Buckets = append(d.Buckets, Bucket{k.Index, mean(k.WaitingNS), mean(k.TransferNS), mean(k.ReductionNS), mean(k.CodecNS)})
	}
}

// textOf is a value as people write it.
func textOf(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// noteSampling says what became of series.
func (m *maker) noteSampling() {
	most := 1
	for _, d := range m.doc.Details {
		for _, l := range d.Lanes {
			most = max(most, l.Each)
		}
	}
	if most > 1 {
		m.note(fmt.Sprintf("of the iterations over time there are the shortest and the longest of each span of up to %d", most))
	}
	if runs := len(m.doc.Runs); runs > len(m.doc.Details) {
		m.note(fmt.Sprintf("single iterations are those of %s, the median and the worst one of each cell", counted(len(m.doc.Details), "run")))
	}
}

func counted(n int, thing string) string { return screen.Count(n, thing) }

// each calls do for the numbers below count, a core each at once, and returns what they said.
func each(count int, do func(i int) error) []error {
	errs := make([]error, count)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(count, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range next {
				errs[i] = do(i)
			}
		})
	}
	for i := range count {
		next <- i
	}
	close(next)
	workers.Wait()
	return errs
}
