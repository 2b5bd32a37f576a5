package result

import (
	"fmt"
	"iter"
	"math"

	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/core/record/folder/npy"
	"github.com/psbench/psbench/internal/packed"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

// FolderSchema is the name of the format of result.json in a run folder. In this format, the samples are in columns in
// other files. A column contains the numbers of all series, one series after another. Gauges and the trainers' losses
// have such columns too.
const FolderSchema = "psbench.result/3"

// Head is a result whose samples are in columns. Instead of losses, series and gauges, it contains their ranges in the
// columns.
type Head struct {
	Result *Result // its series and gauges are empty

	files                  []npy.File
	losses, series, gauges []Range
}

// Range is the part of a column that belongs to one series, gauge or trainer.
type Range struct {
	First int `json:"first"` // index, counted from 0
	Count int `json:"count"`
}

// sampledFile is a Head in JSON.
type sampledFile struct {
	file
	Losses  []Range         `json:"losses"`
	Series  []sampledSeries `json:"series"`
	Gauges  []sampledGauge  `json:"gauges,omitempty"`
	Samples []npy.File      `json:"samples"`
	npy.Seal
}

type sampledSeries struct {
	seriesHead
	Range
}

type sampledGauge struct {
	gaugeHead
	Range
}

// Columns returns the columns for the samples of r.
func (r *Result) Columns() []npy.Column {
	losses, series, gauges := 0, 0, 0
	for _, l := range r.Losses {
		losses += len(l)
	}
	for _, s := range r.Series {
		series += s.Len()
	}
	for _, g := range r.Gauges {
		gauges += g.Len()
	}
	of := func(name string, number func(sdk.Measurement) int64) npy.Column {
		return npy.Column{Name: "series." + name, Count: series, Ints: func(yield func(int64) bool) {
			for _, s := range r.Series {
				for x := range each(s.All(), number) {
					if !yield(x) {
						return
					}
				}
			}
		}}
	}
	columns := []npy.Column{
		of("key_a", func(m sdk.Measurement) int64 { return m.Key.A }),
		of("key_b", func(m sdk.Measurement) int64 { return m.Key.B }),
		of("start_ns", func(m sdk.Measurement) int64 { return m.StartNS }),
		of("duration_ns", func(m sdk.Measurement) int64 { return m.DurationNS }),
		{Name: "losses.loss", Count: losses, Floats: func(yield func(float64) bool) {
			for _, l := range r.Losses {
				for _, x := range l {
					if !yield(x) {
						return
					}
				}
			}
		}},
	}
	columns = append(columns, r.recordedColumns()...)
	if len(r.Gauges) == 0 {
		return columns
	}
	all := func(yield func(packed.Observation) bool) {
		for _, g := range r.Gauges {
			for o := range g.observations.All() {
				if !yield(o) {
					return
				}
			}
		}
	}
	return append(columns,
		npy.Column{Name: "gauges.key_a", Count: gauges,
			Ints: each(all, func(o packed.Observation) int64 { return o.A })},
		npy.Column{Name: "gauges.key_b", Count: gauges,
			Ints: each(all, func(o packed.Observation) int64 { return o.B })},
		npy.Column{Name: "gauges.value", Count: gauges, Floats: values(all)},
	)
}

func values(all iter.Seq[packed.Observation]) iter.Seq[float64] {
	return func(yield func(float64) bool) {
		for o := range all {
			if !yield(o.Value) {
				return
			}
		}
	}
}

// State reports whether the run is complete, and if not, why.
func (r *Result) State() (complete bool, reason string) { return r.Complete, r.Error }

// EncodeHead returns r as JSON. The JSON lists the given files instead of the samples.
func (r *Result) EncodeHead(files []npy.File) ([]byte, error) {
	f := sampledFile{file: r.file(), Losses: []Range{}, Series: []sampledSeries{}, Samples: files}
	f.Schema = FolderSchema
	next := 0
	span := func(count int) Range {
		next += count
		return Range{next - count, count}
	}
	for _, l := range r.Losses {
		f.Losses = append(f.Losses, span(len(l)))
	}
	next = 0
	for _, s := range r.Series {
		f.Series = append(f.Series, sampledSeries{seriesHead{s.Rank, s.Type, s.Name}, span(s.Len())})
	}
	next = 0
	for _, g := range r.Gauges {
		f.Gauges = append(f.Gauges, sampledGauge{gaugeHead{g.Rank, g.Head}, span(g.Len())})
	}
	return npy.Sealed(&f, &f.Seal)
}

// ParseHead parses the JSON that EncodeHead returns.
func ParseHead(data []byte) (*Head, error) {
	var f sampledFile
	if err := jsonfile.Decode("", data, &f); err != nil {
		return nil, err
	}
	r := f.result()
	if f.Schema != FolderSchema {
		return nil, fmt.Errorf("schema is %s, but this psbench reads %q in a run folder", quote.String(f.Schema),
			FolderSchema)
	}
	if err := f.Check(data); err != nil {
		return nil, err
	}
	r.Schema = Schema // schema of a result with samples
	if m := (packed.Measurement{StartNS: r.StartedNS}); !m.Plausible() {
		return nil, fmt.Errorf("started_ns is %d, which is beyond 2^61", r.StartedNS)
	}
	h := &Head{Result: r, files: f.Samples, losses: f.Losses}
	var all seriesSet
	for i, s := range f.Series {
		series := NewSeries(s.Rank, s.Type, s.Name)
		if !all.add(series) {
			return nil, fmt.Errorf("%s: another one has the same rank, type and name", series.title(i))
		}
		h.series = append(h.series, s.Range)
	}
	r.Series = all.list
	for _, g := range f.Gauges {
		r.Gauges = append(r.Gauges, &Gauge{Rank: g.Rank, Head: g.Head})
		h.gauges = append(h.gauges, g.Range)
	}
	for _, of := range []struct {
		name  string
		spans []Range
	}{{"losses", h.losses}, {"series", h.series}, {"gauges", h.gauges}} {
		if err := CheckSpans(of.name, of.spans); err != nil {
			return nil, err
		}
	}
	if err := checkConnected(r); err != nil {
		return nil, err
	}
	return h, checkRanks(r)
}

// CheckSpans returns an error if the ranges of a column do not follow each other without gaps.
func CheckSpans(name string, spans []Range) error {
	next := 0
	for i, s := range spans {
		if s.First != next || s.Count < 0 || s.Count > math.MaxInt-next {
			return fmt.Errorf("%s %d begins at %d and has %d numbers, but the one before ends at %d", name, i, s.First,
				s.Count, next)
		}
		next += s.Count
	}
	return nil
}

// end returns the end of the last range.
func end(spans []Range) int {
	if len(spans) == 0 {
		return 0
	}
	last := spans[len(spans)-1]
	return last.First + last.Count
}

// Files returns the columns that hold the samples.
func (h *Head) Files() []npy.File { return h.files }

// Interrupted records why the run is not complete, unless the result already says so.
func (h *Head) Interrupted(reason string) {
	if h.Result.Complete {
		h.Result.Complete, h.Result.Error = false, reason
	}
}

// Fill reads the samples into the result and recomputes the values that are derived from them.
func (h *Head) Fill(c *npy.Columns) error {
	if err := h.fillSeries(c); err != nil {
		return err
	}
	if err := h.fillGauges(c); err != nil {
		return err
	}
	loss := c.Floats("losses.loss", end(h.losses))
	if err := c.Err(); err != nil {
		return err
	}
	h.Result.Losses = make([][]float64, len(h.losses))
	for i, span := range h.losses {
		for range span.Count {
			h.Result.Losses[i] = append(h.Result.Losses[i], loss())
		}
	}
	if err := h.fillRecorded(c); err != nil {
		return err
	}
	if err := c.Check(); err != nil {
		return err
	}
	if err := h.Result.checkRecorded(); err != nil {
		return err
	}
	h.Result.Compute()
	return nil
}

func (h *Head) fillSeries(c *npy.Columns) error {
	count := end(h.series)
	keyA, keyB := c.Ints("series.key_a", count), c.Ints("series.key_b", count)
	startNS, durationNS := c.Ints("series.start_ns", count), c.Ints("series.duration_ns", count)
	if err := c.Err(); err != nil {
		return err
	}
	for i, s := range h.Result.Series {
		for n := range h.series[i].Count {
			m := packed.Measurement{A: keyA(), B: keyB(), StartNS: startNS(), DurationNS: durationNS()}
			if !m.Plausible() {
				return fmt.Errorf("%s: measurement %d has a number beyond 2^61", s.title(i), n)
			}
			s.measurements.Add(m)
		}
	}
	return nil
}

func (h *Head) fillGauges(c *npy.Columns) error {
	if len(h.gauges) == 0 {
		return nil
	}
	count := end(h.gauges)
	keyA, keyB, value := c.Ints("gauges.key_a", count), c.Ints("gauges.key_b", count), c.Floats("gauges.value", count)
	if err := c.Err(); err != nil {
		return err
	}
	for i, g := range h.Result.Gauges {
		for n := range h.gauges[i].Count {
			o := packed.Observation{A: keyA(), B: keyB(), Value: value()}
			if !o.Plausible() {
				return fmt.Errorf("gauge %d: observation %d has a key beyond 2^61", i, n)
			}
			g.observations.Add(o)
		}
	}
	return nil
}
