package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/psbench/psbench/sdk"

	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/internal/packed"
	"github.com/psbench/psbench/internal/quote"
)

// parse parses one result of this schema or the previous one. data must contain nothing else. Errors give the line and
// column if known.
func parse(data []byte) (*Result, error) {
	var head struct {
		Schema any `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, locate(data, err)
	}
	if head.Schema == nil {
		return nil, fmt.Errorf("there is no \"schema\": a result file starts with %q", Schema)
	}
	schema := fmt.Sprint(head.Schema)
	parseSchema := map[string]func([]byte) (*Result, error){Schema: parseSeries, schema1: parseSamples}[schema]
	switch {
	case parseSchema != nil:
	case schema == FolderSchema:
		return nil, errors.New("it is the result.json of a run folder, whose samples lie beside it: give the folder")
	case strings.HasPrefix(schema, "psbench.comm/"):
		return nil,
			errors.New("it is a result of psbench comm, whose tables need more than this file: give the folder that --out wrote")
	default:
		return nil, fmt.Errorf("schema is %s, but this psbench reads %q and %q", quote.String(schema), Schema, schema1)
	}
	r, err := parseSchema(data)
	if err != nil {
		return nil, err
	}
	return r, checkRanks(r)
}

func parseSeries(data []byte) (*Result, error) {
	var all seriesSet
	head, err := split(data, "series", func(i int, text []byte) (int64, error) {
		s, at, err := parseColumns(text)
		switch {
		case s == nil:
			return at, fmt.Errorf("series %d: %w", i, err)
		case err != nil:
			return at, fmt.Errorf("%s: %w", s.title(i), err)
		case !all.add(s):
			return 0, fmt.Errorf("%s: another one has the same rank, type and name", s.title(i))
		}
		return 0, nil
	})
	if err != nil {
		return nil, err
	}
	var gauges []*Gauge
	head, err = split(head, "gauges", func(i int, text []byte) (int64, error) {
		g, at, err := parseGauge(text)
		if err != nil {
			return at, fmt.Errorf("gauge %d: %w", i, err)
		}
		gauges = append(gauges, g)
		return 0, nil
	})
	if err != nil {
		return nil, err
	}
	var f struct {
		file
		Losses [][]number `json:"losses"`
		Series []struct{} `json:"series"` // removed from head
		Gauges []struct{} `json:"gauges"` // removed from head
	}
	if err := jsonfile.Decode("", head, &f); err != nil {
		return nil, err
	}
	r := f.result()
	r.Losses, r.Gauges = lossesFromFile(f.Losses), gauges
	if m := (packed.Measurement{StartNS: r.StartedNS}); !m.Plausible() {
		return nil, fmt.Errorf("started_ns is %d, which is beyond 2^61", r.StartedNS)
	}
	for _, s := range all.list { // in a file, start times count from the start of the run
		series := NewSeries(s.Rank, s.Type, s.Name)
		for _, c := range s.measurements.Chunks() {
			series.Append(packed.Shifted(c, r.StartedNS))
		}
		r.Series = append(r.Series, series)
	}
	return r, checkConnected(r)
}

// split removes a list from the JSON object data and calls each for every element of the list. split passes the
// elements one by one, because the text of an element may be very long. An error of each comes with its offset in the
// element. head is data without the elements. head has the same lines as data, so errors found in head, such as a
// second list with this key, have correct positions.
func split(data []byte, key string, each func(i int, element []byte) (at int64, err error)) (head []byte, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	_, err = d.Token() // opening brace
	for head = data; err == nil && d.More(); {
		var name, start json.Token
		if name, err = d.Token(); err != nil {
			break
		}
		if name != key {
			err = d.Decode(new(extent))
			continue
		}
		if start, err = d.Token(); err != nil || start != json.Delim('[') {
			return nil, fmt.Errorf("%s: %q must be a list", jsonfile.Place(data, d.InputOffset()), key)
		}
		begin := d.InputOffset()
		for i := 0; d.More(); i++ {
			var length extent
			if err := d.Decode(&length); err != nil {
				return nil, err
			}
			end := d.InputOffset()
			element := end - int64(length)
			if at, err := each(i, data[element:end]); err != nil {
				return nil, fmt.Errorf("%s: %w", jsonfile.Place(data, element+at), err)
			}
		}
		_, err = d.Token() // closing bracket
		end := d.InputOffset() - 1
		head = slices.Concat(data[:begin], blank(data[begin:end]), data[end:])
	}
	return head, err
}

// extent is the length of a JSON value in bytes.
type extent int64

// UnmarshalJSON stores the length of value.
func (e *extent) UnmarshalJSON(value []byte) error {
	*e = extent(len(value))
	return nil
}

// blank returns spaces with as many lines as text, and as many characters in the last line.
func blank(text []byte) []byte {
	last := text[1+bytes.LastIndexByte(text, '\n'):]
	return append(bytes.Repeat([]byte{'\n'}, bytes.Count(text, []byte{'\n'})),
		bytes.Repeat([]byte{' '}, utf8.RuneCount(last))...)
}

func lossesFromFile(trainers [][]number) (out [][]float64) {
	for _, losses := range trainers {
		out = append(out, convert[float64](losses))
	}
	return out
}

// checkRanks returns an error if a recorded rank is not in the list of processes. The tables would omit such a rank.
func checkRanks(r *Result) error {
	known := map[int]bool{}
	for _, p := range r.Processes {
		known[p.Rank] = known[p.Rank] || p.Measures()
	}
	for i, s := range r.Series {
		if !known[s.Rank] {
			return fmt.Errorf("%s: %w", s.title(i), errUnknownRank)
		}
	}
	return checkNumbers(r, known)
}

var errUnknownRank = errors.New("no trainer, server or data of \"processes\" has that rank")

// checkConnected returns an error if a complete run does not list the trainers that wait for each other.
func checkConnected(r *Result) error {
	trainers := map[int]bool{}
	for _, p := range r.Processes {
		trainers[p.Rank] = trainers[p.Rank] || p.Kind == "trainer"
	}
	for i, set := range r.Connected {
		for _, rank := range set {
			if r.Complete && !trainers[rank] {
				return fmt.Errorf("set %d of \"connected\" has rank %d, but no trainer of \"processes\" has that rank",
					i, rank)
			}
		}
	}
	return nil
}

// title returns a description of the series, whose index in the list is i.
func (s *Series) title(i int) string {
	return fmt.Sprintf("series %d (rank %d, %s, %s)", i, s.Rank, quote.Word(s.Type), quote.Word(s.Name))
}

func locate(data []byte, err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax): // its offset is one byte too large
		return fmt.Errorf("%s: %w", jsonfile.Place(data, syntax.Offset-1), err)
	case errors.As(err, new(*json.UnmarshalTypeError)):
		return errors.New("it must hold an object: {...}")
	}
	return err
}

// schema1 is the previous format, in which every measurement was an object. psbench will always read its results.
const schema1 = "psbench.result/1"

func parseSamples(data []byte) (*Result, error) {
	var all seriesSet
	head, err := split(data, "samples", func(i int, text []byte) (int64, error) {
		m, h, err := parseSample(text)
		if err != nil {
			return 0, fmt.Errorf("sample %d: %w", i, err)
		}
		all.of(h).Add(m)
		return 0, nil
	})
	if err != nil {
		return nil, err
	}
	var f struct {
		file
		Losses  [][]number `json:"losses"`
		Samples []struct{} `json:"samples"` // removed from head
	}
	if err := jsonfile.Decode("", head, &f); err != nil {
		return nil, err
	}
	r := f.result()
	r.Schema = Schema // schema after conversion
	r.Losses, r.Series = lossesFromFile(f.Losses), all.list
	return r, nil
}

// sample is a measurement in schema 1.
type sample struct {
	Rank       int    `json:"rank"`
	Type       string `json:"type"`
	Name       string `json:"name"`
	Key        string `json:"key"` // in the form A,B
	StartNS    int64  `json:"start_ns"`
	DurationNS int64  `json:"duration_ns"`
}

func parseSample(text []byte) (m sdk.Measurement, h seriesHead, err error) {
	var q sample
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		return m, h, err
	}
	m, err = q.measurement()
	return m, seriesHead{q.Rank, q.Type, q.Name}, err
}

func (s *sample) measurement() (m sdk.Measurement, err error) {
	a, b, _ := strings.Cut(s.Key, ",")
	keyA, errA := strconv.ParseInt(a, 10, 64)
	keyB, errB := strconv.ParseInt(b, 10, 64)
	if errA != nil || errB != nil {
		return m, fmt.Errorf("key %s is not two whole numbers and a comma between them", quote.String(s.Key))
	}
	if !(packed.Measurement{A: keyA, B: keyB, StartNS: s.StartNS, DurationNS: s.DurationNS}).Plausible() {
		return m, errors.New("a number is beyond 2^61")
	}
	return sdk.Measurement{Key: sdk.Key{A: keyA, B: keyB}, StartNS: s.StartNS, DurationNS: s.DurationNS}, nil
}
