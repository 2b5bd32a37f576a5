package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/psbench/psbench/internal/packed"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

// schema1 is the format before this one, in which every measurement was an object. Results
// of it are read for good.
const schema1 = "psbench.result/1"

func parseSamples(data []byte) (*Result, error) {
	var f struct {
		file
		Losses  [][]number `json:"losses"`
		Samples samples    `json:"samples"`
	}
	if err := decode(data, &f); err != nil {
		return nil, err
	}
	r := f.result()
	r.Schema = Schema // of what is made of it
	r.Losses, r.Series = lossesFromFile(f.Losses), f.Samples
	return r, nil
}

// samples are the series of a result, of which a file of schema 1 has the measurements one
// by one.
type samples []*Series

// sample is a measurement of schema 1.
type sample struct {
	Rank       int    `json:"rank"`
	Type       string `json:"type"`
	Name       string `json:"name"`
	Key        string `json:"key"` // A,B
	StartNS    int64  `json:"start_ns"`
	DurationNS int64  `json:"duration_ns"`
}

// UnmarshalJSON packs the measurements as they come: as objects they take many times more.
func (s *samples) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if start, err := d.Token(); err != nil || start != json.Delim('[') {
		return errors.New("\"samples\" is not a list")
	}
	var all seriesSet
	for i := 0; d.More(); i++ {
		var q sample
		if err := d.Decode(&q); err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
		m, err := q.measurement()
		if err != nil {
			return fmt.Errorf("sample %d: %w", i, err)
		}
		all.of(seriesHead{q.Rank, q.Type, q.Name}).Add(m)
	}
	*s = all.list
	return nil
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
