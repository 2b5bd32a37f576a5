package result

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"strconv"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/packed"
	"github.com/psbench/psbench/sdk"
)

// MarshalJSON writes r in the format of docs/result.md.
func (r Result) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	err := r.write(&text)
	return text.Bytes(), err
}

// write writes r in the format of docs/result.md. write writes losses, series and gauges last and number by number. The
// text of these numbers can be larger than the data, so it must not be in memory as a whole.
func (r *Result) write(to io.Writer) error {
	var head bytes.Buffer
	e := json.NewEncoder(&head)
	e.SetEscapeHTML(false)
	if err := e.Encode(r.file()); err != nil {
		return err
	}
	w := writer{bufio.NewWriterSize(to, pieceBytes)}
	_, _ = w.Write(bytes.TrimSuffix(head.Bytes(), []byte("}\n"))) // Flush returns the error
	w.text(`,"losses":[`)
	for i, losses := range r.Losses {
		w.separate(i)
		w.losses(losses)
	}
	w.text("],\"series\":[\n")
	for i, s := range r.Series {
		w.separate(i)
		if err := w.series(s, r.StartedNS); err != nil {
			return err
		}
	}
	w.text("]")
	if len(r.Gauges) > 0 {
		w.text(",\"gauges\":[\n")
	}
	for i, g := range r.Gauges {
		w.separate(i)
		if err := w.gauge(g); err != nil {
			return err
		}
	}
	if len(r.Gauges) > 0 {
		w.text("]")
	}
	w.text("}\n")
	return w.Flush()
}

// writer writes JSON. The methods of writer report errors only through Flush.
type writer struct{ *bufio.Writer }

func (w writer) text(s string) { _, _ = w.WriteString(s) }

// separate writes the separator before element i of a list.
func (w writer) separate(i int) {
	if i > 0 {
		_ = w.WriteByte(',')
	}
}

func (w writer) losses(losses []float64) {
	w.text("[")
	for i, loss := range losses {
		w.separate(i)
		w.number(loss)
	}
	w.text("]")
}

// number writes x, or null if x is not finite.
func (w writer) number(x float64) {
	if !numeral.Finite(x) {
		w.text("null")
	} else {
		_, _ = w.Write(strconv.AppendFloat(w.AvailableBuffer(), x, 'g', -1, 64))
	}
}

// series writes the columns of a series on one line.
func (w writer) series(s *Series, startedNS int64) error {
	if err := w.head(seriesHead{s.Rank, s.Type, s.Name}); err != nil {
		return err
	}
	w.column("key_a", differences(0, each(s.All(), func(m sdk.Measurement) int64 { return m.Key.A })))
	w.column("key_b", differences(0, each(s.All(), func(m sdk.Measurement) int64 { return m.Key.B })))
	w.column("start_ns", differences(startedNS, each(s.All(), func(m sdk.Measurement) int64 { return m.StartNS })))
	w.column("duration_ns", each(s.All(), func(m sdk.Measurement) int64 { return m.DurationNS }))
	w.text("}\n")
	return nil
}

// gauge writes the columns of a gauge on one line.
func (w writer) gauge(g *Gauge) error {
	if err := w.head(gaugeHead{g.Rank, g.Head}); err != nil {
		return err
	}
	all := g.observations.All()
	w.column("key_a", differences(0, each(all, func(o packed.Observation) int64 { return o.A })))
	w.column("key_b", differences(0, each(all, func(o packed.Observation) int64 { return o.B })))
	w.text(`,"value":[`)
	i := 0
	for o := range all {
		w.separate(i)
		i++
		w.number(o.Value)
	}
	w.text("]}\n")
	return nil
}

// head writes an object without its closing brace, so that columns can follow.
func (w writer) head(head any) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	_, _ = w.Write(bytes.TrimSuffix(text, []byte("}")))
	return nil
}

func (w writer) column(name string, values iter.Seq[int64]) {
	w.text(`,"` + name + `":[`)
	i := 0
	for x := range values {
		w.separate(i)
		i++
		_, _ = w.Write(strconv.AppendInt(w.AvailableBuffer(), x, 10))
	}
	w.text("]")
}

// each yields number(x) for each element x.
func each[T any](all iter.Seq[T], number func(T) int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for x := range all {
			if !yield(number(x)) {
				return
			}
		}
	}
}

// differences yields the difference between each number and the previous one. For the first number, differences yields
// the difference to start.
func differences(start int64, numbers iter.Seq[int64]) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		last := start
		for x := range numbers {
			if !yield(x - last) {
				return
			}
			last = x
		}
	}
}
