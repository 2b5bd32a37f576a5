package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

// number is a float64 that JSON can hold whatever its value: a loss that is not
// finite is a finding of the run, not a reason to lose its result.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

func (n *number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*n = number(math.NaN())
		return nil
	}
	return json.Unmarshal(data, (*float64)(n))
}

func convert[To, From ~float64](from []From) []To {
	to := make([]To, len(from))
	for i, x := range from {
		to[i] = To(x)
	}
	return to
}

// file is Result as JSON holds it. The fields here shadow those of plain.
type file struct {
	plain
	Losses     [][]number  `json:"losses"`
	Parameters [][]summary `json:"parameters,omitempty"`

	Evaluation       []evaluation `json:"evaluation,omitempty"`
	ServerParameters [][]summary  `json:"server_parameters,omitempty"`
	Samples          []Sample     `json:"samples"`
}

// Sample is one measurement.
type Sample struct {
	Rank int    `json:"rank"`
	Type string `json:"type"` // e.g. "forward_metric"
	Name string `json:"name"` // e.g. "forward_pass"
	// Key places the sample in its series, e.g. "{epoch},{index}".
	Key string `json:"key"`
	// StartNS is in ns of the core's CLOCK_MONOTONIC, whatever clock its process has.
	StartNS    int64 `json:"start_ns"`
	DurationNS int64 `json:"duration_ns"`
}

func samplesOf(series []*Series) []Sample {
	samples := []Sample{}
	for _, s := range series {
		for m := range s.All() {
			samples = append(samples, Sample{s.Rank, s.Type, s.Name, m.Key.String(), m.StartNS, m.DurationNS})
		}
	}
	return samples
}

// measurement is that of a sample.
func (s *Sample) measurement() (sdk.Measurement, error) {
	m := sdk.Measurement{StartNS: s.StartNS, DurationNS: s.DurationNS}
	a, b, _ := strings.Cut(s.Key, ",")
	var errA, errB error
	m.Key.A, errA = strconv.ParseInt(a, 10, 64)
	m.Key.B, errB = strconv.ParseInt(b, 10, 64)
	if errA != nil || errB != nil {
		return m, fmt.Errorf("key %s is not two whole numbers and a comma between them", quote.String(s.Key))
	}
	return m, nil
}

type plain Result

// summary is ParameterSummary as JSON holds it.
type summary struct {
	plainSummary
	DeltaSum   number   `json:"delta_sum"`
	DeltaSumSq number   `json:"delta_sumsq"`
	DeltaHead  []number `json:"delta_head"`
	Head       []number `json:"head"`
}

type plainSummary ParameterSummary

// MarshalJSON writes r in the format of docs/result.md: lists are never null,
// and a loss or parameter value is null if it is not finite.
func (r Result) MarshalJSON() ([]byte, error) {
	f := file{plain: plain(r)}
	f.Command = orEmpty(f.Command)
	f.Config = orEmpty(f.Config)
	f.Warnings = orEmpty(f.Warnings)
	f.Connected = orEmpty(f.Connected)
	f.Data.BatchesPerTrainer = orEmpty(f.Data.BatchesPerTrainer)
	f.Data.SamplesPerTrainer = orEmpty(f.Data.SamplesPerTrainer)
	f.Samples = samplesOf(r.Series)
	f.Buckets = slices.Clone(orEmpty(f.Buckets))
	for i := range f.Buckets {
		f.Buckets[i].Parameters = orEmpty(f.Buckets[i].Parameters)
	}
	f.Processes = slices.Clone(orEmpty(f.Processes))
	for i := range f.Processes {
		if f.Processes[i].Facts == nil {
			f.Processes[i].Facts = map[string]string{}
		}
	}
	f.Losses = [][]number{}
	for _, losses := range r.Losses {
		f.Losses = append(f.Losses, convert[number](losses))
	}
	f.Evaluation = evaluationsToFile(r.Evaluation)
	f.Parameters, f.ServerParameters = toFile(r.Parameters), toFile(r.ServerParameters)
	return json.Marshal(f)
}

func toFile(ranks [][]ParameterSummary) (out [][]summary) {
	for _, parameters := range ranks {
		summaries := []summary{}
		for _, p := range parameters {
			summaries = append(summaries, summary{
				plainSummary(p), number(p.DeltaSum), number(p.DeltaSumSq),
				convert[number](p.DeltaHead), convert[number](p.Head),
			})
		}
		out = append(out, summaries)
	}
	return out
}

func fromFile(ranks [][]summary) (out [][]ParameterSummary) {
	for _, parameters := range ranks {
		summaries := []ParameterSummary{}
		for _, s := range parameters {
			p := ParameterSummary(s.plainSummary)
			p.DeltaSum, p.DeltaSumSq = float64(s.DeltaSum), float64(s.DeltaSumSq)
			p.DeltaHead, p.Head = convert[float64](s.DeltaHead), convert[float64](s.Head)
			summaries = append(summaries, p)
		}
		out = append(out, summaries)
	}
	return out
}

// UnmarshalJSON is the reverse of MarshalJSON. Fields that the format does not
// have are an error. Numbers of the configuration become json.Number, which
// keeps a 64-bit seed exact.
func (r *Result) UnmarshalJSON(data []byte) error {
	var f file
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(&f); err != nil {
		return err
	}
	*r = Result(f.plain)
	r.Series = nil
	for i, s := range f.Samples {
		m, err := s.measurement()
		if err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
		r.SeriesOf(s.Rank, s.Type, s.Name).Add(m)
	}
	r.Losses = nil
	for _, losses := range f.Losses {
		r.Losses = append(r.Losses, convert[float64](losses))
	}
	r.Evaluation = evaluationsFromFile(f.Evaluation)
	r.Parameters, r.ServerParameters = fromFile(f.Parameters), fromFile(f.ServerParameters)
	return nil
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// parse reads one result from data, which must hold nothing else. Errors name
// line and column where there is one.
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
	if *head.Schema != Schema {
		return nil, fmt.Errorf("schema is %q, but this psbench reads %q", *head.Schema, Schema)
	}
	r := new(Result)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, err
	}
	return r, checkRanks(r)
}

// checkRanks makes sure that the tables miss no series.
func checkRanks(r *Result) error {
	known := map[int]bool{}
	for _, p := range r.Processes {
		known[p.Rank] = known[p.Rank] || p.Measures()
	}
	for _, s := range r.Series {
		if !known[s.Rank] {
			return fmt.Errorf("%s, %s has rank %d, but no trainer or server of \"processes\" has", s.Type, s.Name, s.Rank)
		}
	}
	return nil
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
