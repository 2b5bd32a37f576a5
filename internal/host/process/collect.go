package process

import (
	"maps"
	"time"

	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// CollectGrace is the time that Collect gives a failed pass to end. If the pass still runs after
// that time, its record may stop in the middle of an iteration.
const CollectGrace = time.Second

// CollectRecorded sends all values in the process's recorder.
func (p *Process) CollectRecorded(send record.Send) error {
	return SendRecorded(p.Recorder.All(), send)
}

// SendRecorded sends the contents of a recorder in pieces.
func SendRecorded(all sdk.Recorded, send record.Send) error {
	for _, s := range all.Series {
		for _, chunk := range s.Chunks() {
			if err := send(&record.Series{Type: s.Type, Name: s.Name, Measurements: chunk}); err != nil {
				return err
			}
		}
	}
	for _, c := range all.Counters {
		if err := send(&record.Counter{Head: c.Head, Value: c.Value}); err != nil {
			return err
		}
	}
	for _, g := range all.Gauges {
		for _, chunk := range g.Chunks() {
			if err := send(&record.Gauge{Head: g.Head, Observations: chunk}); err != nil {
				return err
			}
		}
	}
	for _, h := range all.Histograms {
		if err := send(&record.Histogram{Head: h.Head, Histogram: h.Histogram}); err != nil {
			return err
		}
	}
	return nil
}

// CollectPassFacts sends the facts of parts after the pass. The parts must no longer be working on
// the pass.
func CollectPassFacts(send record.Send, parts ...any) error {
	return SendPassFacts(PassFactsOf(parts...), send)
}

// PassFactsOf returns the facts of parts after the pass. Collect their recorders afterwards: parts may
// record values in PassFacts.
func PassFactsOf(parts ...any) record.Facts {
	var facts record.Facts
	for _, part := range parts {
		facts = PassFacts(facts, part)
	}
	return facts
}

// SendPassFacts sends the result of PassFactsOf unless it is empty.
func SendPassFacts(facts record.Facts, send record.Send) error {
	if len(facts) == 0 {
		return nil
	}
	return send(facts)
}

// PassFacts is like Facts, for the facts of a part after the pass.
func PassFacts(into map[string]string, part any) map[string]string {
	if d, ok := part.(sdk.PassDescriber); ok {
		if into == nil {
			into = map[string]string{}
		}
		maps.Copy(into, d.PassFacts())
	}
	return into
}

// Facts adds the facts of a part to a map, which it creates if nil.
func Facts(into map[string]string, part any) map[string]string {
	if d, ok := part.(sdk.Describer); ok {
		if into == nil {
			into = map[string]string{}
		}
		maps.Copy(into, d.Facts())
	}
	return into
}
