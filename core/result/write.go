package result

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"math"
	"strconv"

	"github.com/psbench/psbench/sdk"
)

// MarshalJSON writes r in the format of docs/result.md.
func (r Result) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	err := r.write(&text)
	return text.Bytes(), err
}

// write writes r in the format of docs/result.md. Losses and series come last and number by
// number, so that their text, which can be larger than they are, is never in memory.
func (r *Result) write(to io.Writer) error {
	var head bytes.Buffer
	e := json.NewEncoder(&head)
	e.SetEscapeHTML(false)
	if err := e.Encode(r.file()); err != nil {
		return err
	}
	w := writer{bufio.NewWriterSize(to, pieceBytes)}
	_, _ = w.Write(bytes.TrimSuffix(head.Bytes(), []byte("}\n"))) // Flush tells of an error
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
	w.text("]}\n")
	return w.Flush()
}

// writer writes JSON. Its methods leave errors to Flush.
type writer struct{ *bufio.Writer }

func (w writer) text(s string) { _, _ = w.WriteString(s) }

// separate goes before element i of a list.
func (w writer) separate(i int) {
	if i > 0 {
		_ = w.WriteByte(',')
	}
}

func (w writer) losses(losses []float64) {
	w.text("[")
	for i, loss := range losses {
		w.separate(i)
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			w.text("null")
		} else {
			_, _ = w.Write(strconv.AppendFloat(w.AvailableBuffer(), loss, 'g', -1, 64))
		}
	}
	w.text("]")
}

// series writes the columns of a series, a line of its own.
func (w writer) series(s *Series, startedNS int64) error {
	head, err := json.Marshal(seriesHead{s.Rank, s.Type, s.Name})
	if err != nil {
		return err
	}
	_, _ = w.Write(bytes.TrimSuffix(head, []byte("}")))
	w.column("key_a", differences(0, s, func(m sdk.Measurement) int64 { return m.Key.A }))
	w.column("key_b", differences(0, s, func(m sdk.Measurement) int64 { return m.Key.B }))
	w.column("start_ns", differences(startedNS, s, func(m sdk.Measurement) int64 { return m.StartNS }))
	w.column("duration_ns", func(yield func(int64) bool) {
		for m := range s.All() {
			if !yield(m.DurationNS) {
				return
			}
		}
	})
	w.text("}\n")
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

// differences are those of a number of the measurements to the one before, of the first to
// start.
func differences(start int64, s *Series, number func(sdk.Measurement) int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		last := start
		for m := range s.All() {
			x := number(m)
			if !yield(x - last) {
				return
			}
			last = x
		}
	}
}
