package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/psbench/psbench/internal/packed"
	"github.com/psbench/psbench/internal/quote"
)

// parse reads one result of this schema or the one before from data, which must hold nothing
// else. Errors name line and column where there is one.
func parse(data []byte) (*Result, error) {
	var head struct {
		Schema *string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, locate(data, err)
	}
	if head.Schema == nil {
		return nil, fmt.Errorf("there is no \"schema\": a result file starts with %q", Schema)
	}
	parseSchema := map[string]func([]byte) (*Result, error){Schema: parseSeries, schema1: parseSamples}[*head.Schema]
	switch {
	case parseSchema != nil:
	case strings.HasPrefix(*head.Schema, "psbench.comm/"):
		return nil, errors.New("it is a result of psbench comm, whose tables are not made from the file")
	default:
		return nil, fmt.Errorf("schema is %s, but this psbench reads %q and %q", quote.String(*head.Schema), Schema, schema1)
	}
	r, err := parseSchema(data)
	if err != nil {
		return nil, err
	}
	return r, checkRanks(r)
}

// decode decodes data into v. Fields that v does not have are an error. Numbers of the
// configuration become json.Number, which keeps a 64-bit seed exact.
func decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	d.UseNumber()
	return d.Decode(v)
}

func parseSeries(data []byte) (*Result, error) {
	var f struct {
		file
		Losses [][]number     `json:"losses"`
		Series []storedSeries `json:"series"`
	}
	if err := decode(data, &f); err != nil {
		return nil, err
	}
	r := f.result()
	r.Losses = lossesFromFile(f.Losses)
	if m := (packed.Measurement{StartNS: r.StartedNS}); !m.Plausible() {
		return nil, fmt.Errorf("started_ns is %d, which is beyond 2^61", r.StartedNS)
	}
	for _, s := range f.Series {
		series := NewSeries(s.Rank, s.Type, s.Name)
		for _, c := range s.measurements.Chunks() {
			series.Append(c.Shifted(r.StartedNS))
		}
		r.Series = append(r.Series, series)
	}
	return r, nil
}

// storedSeries is a series as a file has it: its starts count from the start of the run.
type storedSeries struct{ Series }

// UnmarshalJSON packs a series as soon as its text is there.
func (s *storedSeries) UnmarshalJSON(data []byte) error {
	var c columns
	if err := decode(data, &c); err != nil {
		return err
	}
	s.Rank, s.Type, s.Name = c.Rank, c.Type, c.Name
	n := len(c.StartNS)
	if len(c.KeyA) != n || len(c.KeyB) != n || len(c.DurationNS) != n {
		return fmt.Errorf("%s has columns of unequal length: %d key_a, %d key_b, %d start_ns, %d duration_ns",
			s.title(), len(c.KeyA), len(c.KeyB), n, len(c.DurationNS))
	}
	var m packed.Measurement
	for i := range n {
		fits := add(&m.A, c.KeyA[i]) && add(&m.B, c.KeyB[i]) && add(&m.StartNS, c.StartNS[i])
		m.DurationNS = c.DurationNS[i]
		if !fits || !m.Plausible() {
			return fmt.Errorf("%s has a number beyond 2^61 in measurement %d", s.title(), i)
		}
		s.measurements.Add(m)
	}
	return nil
}

// add adds y to x and says whether the sum fits.
func add(x *int64, y int64) bool {
	sum := *x + y
	fits := (sum > *x) == (y > 0)
	*x = sum
	return fits
}

func lossesFromFile(trainers [][]number) (out [][]float64) {
	for _, losses := range trainers {
		out = append(out, convert[float64](losses))
	}
	return out
}

// checkRanks makes sure that the tables miss no series.
func checkRanks(r *Result) error {
	known := map[int]bool{}
	for _, p := range r.Processes {
		known[p.Rank] = known[p.Rank] || p.Measures()
	}
	for _, s := range r.Series {
		if !known[s.Rank] {
			return fmt.Errorf("%s: no trainer or server of \"processes\" has that rank", s.title())
		}
	}
	return nil
}

func (s *Series) title() string {
	return fmt.Sprintf("series %s, %s of rank %d", quote.Word(s.Type), quote.Word(s.Name), s.Rank)
}

func locate(data []byte, err error) error {
	offset := int64(-1)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = max(syntax.Offset-1, 0) // Offset counts the byte that was wrong
	case errors.As(err, &kind):
		offset = kind.Offset
	}
	if offset < 0 || offset > int64(len(data)) {
		return err
	}
	before := data[:offset]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}
