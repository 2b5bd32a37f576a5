package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/internal/packed"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/sdk"
)

// schema1 is the format before this one, in which every measurement was an object. Results
// of it are read for good.
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
		Samples []struct{} `json:"samples"` // of which head has none
	}
	if err := jsonfile.Decode("", head, &f); err != nil {
		return nil, err
	}
	r := f.result()
	r.Schema = Schema // of what is made of it
	r.Losses, r.Series = lossesFromFile(f.Losses), all.list
	return r, nil
}

// sample is a measurement of schema 1.
type sample struct {
	Rank       int    `json:"rank"`
	Type       string `json:"type"`
	Name       string `json:"name"`
	Key        string `json:"key"` // A,B
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
