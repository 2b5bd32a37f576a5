package run

import (
	"fmt"
	"maps"

	"github.com/psbench/psbench/core/host/clocks"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/internal/metric"
	"github.com/psbench/psbench/internal/packed"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

// declared maps each type and name in the pieces of a process to its declaration. A name must not have two
// declarations.
type declared map[metric.Head]string // the keys have no unit

// add records a piece's declaration. The text of its error completes a sentence about the process.
func (d declared) add(piece record.Piece) error {
	switch p := piece.(type) {
	case *record.Series:
		return d.note(metric.Head{Type: p.Type, Name: p.Name}, "series", true)
	case *record.Counter:
		return d.note(p.Head, "counter", false)
	case *record.Gauge:
		return d.note(p.Head, "gauge", true)
	case *record.Histogram:
		return d.note(p.Head, "histogram", false)
	}
	return nil
}

// note records one declaration. If several is true, the declaration may come in several pieces.
func (d declared) note(h metric.Head, what string, several bool) error {
	if h.Unit != "" {
		what += " in " + quote.Word(h.Unit)
	}
	named := metric.Head{Type: h.Type, Name: h.Name}
	before, known := d[named]
	switch {
	case known && before != what:
		return fmt.Errorf("sent %s as a %s, and also as a %s", metric.Title(h), before, what)
	case known && !several:
		return fmt.Errorf("sent %s twice, a %s", metric.Title(h), what)
	}
	d[named] = what
	return nil
}

// addNumbers adds the measurements of a process to the result, under its rank.
func addNumbers(res *result.Result, p *process) {
	for s := range pieces[*record.Series](&p.collected) {
		appendHere(res.SeriesOf(p.rank, s.Type, s.Name), s.Measurements, p.Site().Clock.Estimate())
	}
	for c := range pieces[*record.Counter](&p.collected) {
		res.Count(p.rank, c.Head, c.Value)
	}
	for g := range pieces[*record.Gauge](&p.collected) {
		res.GaugeOf(p.rank, g.Head).Append(g.Observations)
	}
	for h := range pieces[*record.Histogram](&p.collected) {
		res.Distribute(p.rank, h.Head, h.Histogram)
	}
}

// appendHere appends measurements and converts their time stamps to the core's clock. It does not convert durations,
// because they are short.
func appendHere(to *result.Series, chunk packed.Chunk[packed.Measurement], clock clocks.Estimate) {
	if clock.Drift == 0 {
		to.Append(packed.Shifted(chunk, -clock.OffsetNS))
		return
	}
	for m := range chunk.All() {
		to.Add(sdk.Measurement{Key: sdk.Key{A: m.A, B: m.B}, StartNS: clock.Here(m.StartNS), DurationNS: m.DurationNS})
	}
}

// factsOf merges the facts that the parts of a process reported before the pass with the facts after the pass.
func factsOf(p *process) map[string]string {
	facts := maps.Clone(p.facts)
	for after := range pieces[record.Facts](&p.collected) {
		if facts == nil {
			facts = map[string]string{}
		}
		maps.Copy(facts, after)
	}
	return facts
}
