package result

import (
	"fmt"

	"github.com/psbench/psbench/internal/metric"
	"github.com/psbench/psbench/internal/packed"
)

// columns is a Series in JSON. Each column has one number per measurement. Differences are relative to the previous
// measurement.
type columns struct {
	seriesHead
	KeyA       []int64 `json:"key_a" jsonschema_description:"first numbers of the keys as differences to the one before; the first difference is to 0"`
	KeyB       []int64 `json:"key_b" jsonschema_description:"the same for the second numbers"`
	StartNS    []int64 `json:"start_ns" jsonschema_description:"starts as differences to the one before; the first difference is to started_ns"`
	DurationNS []int64 `json:"duration_ns"`
}

type seriesHead struct {
	Rank int    `json:"rank"`
	Type string `json:"type"` // such as forward_metric
	Name string `json:"name"` // such as forward_pass
}

var columnNames = []string{"key_a", "key_b", "start_ns", "duration_ns"}

// parseColumns parses a series of a file. In a file, start times count from the start of the run. If parseColumns
// returns an error, at is the error's offset in text. The series is returned too if its rank, type and name are known.
func parseColumns(text []byte) (s *Series, at int64, err error) {
	values, at, err := valuesOf(text, append([]string{"rank", "type", "name"}, columnNames...))
	if err != nil {
		return nil, at, err
	}
	var h seriesHead
	if at, err := headOf(values, headField{"rank", "a whole number", &h.Rank}, headField{"type", "a string", &h.Type},
		headField{"name", "a string", &h.Name}); err != nil {
		return nil, at, err
	}
	s = NewSeries(h.Rank, h.Type, h.Name)
	columns := make([][]int64, len(columnNames))
	for i, name := range columnNames {
		if columns[i], at, err = column(values, name, wholeNumbers); err != nil {
			return s, at, err
		}
	}
	keyA, keyB, startNS, durationNS := columns[0], columns[1], columns[2], columns[3]
	n := len(startNS)
	if len(keyA) != n || len(keyB) != n || len(durationNS) != n {
		return s, 0, fmt.Errorf("its columns have unequal lengths: %d key_a, %d key_b, %d start_ns, %d duration_ns",
			len(keyA), len(keyB), n, len(durationNS))
	}
	var m packed.Measurement
	for i := range n {
		fits := add(&m.A, keyA[i]) && add(&m.B, keyB[i]) && add(&m.StartNS, startNS[i])
		m.DurationNS = durationNS[i]
		if !fits || !m.Plausible() {
			return s, 0, fmt.Errorf("measurement %d has a number beyond 2^61", i)
		}
		s.measurements.Add(m)
	}
	return s, 0, nil
}

// gaugeColumns is a Gauge in JSON, in the same form as columns.
type gaugeColumns struct {
	gaugeHead
	KeyA  []int64   `json:"key_a" jsonschema_description:"first numbers of the keys as differences to the one before; the first difference is to 0"`
	KeyB  []int64   `json:"key_b" jsonschema_description:"the same for the second numbers"`
	Value []float64 `json:"value"`
}

type gaugeHead struct {
	Rank int `json:"rank"`
	metric.Head
}

// parseGauge parses a gauge of a file. If parseGauge returns an error, at is the error's offset in text.
func parseGauge(text []byte) (g *Gauge, at int64, err error) {
	values, at, err := valuesOf(text, []string{"rank", "type", "name", "unit", "key_a", "key_b", "value"})
	if err != nil {
		return nil, at, err
	}
	g = &Gauge{}
	if at, err := headOf(values, headField{"rank", "a whole number", &g.Rank}, headField{"type", "a string", &g.Type},
		headField{"name", "a string", &g.Name}, headField{"unit", "a string", &g.Unit}); err != nil {
		return nil, at, err
	}
	keyA, at, err := column(values, "key_a", wholeNumbers)
	if err != nil {
		return nil, at, err
	}
	keyB, at, err := column(values, "key_b", wholeNumbers)
	if err != nil {
		return nil, at, err
	}
	observed, at, err := column(values, "value", numbersOrNull)
	if err != nil {
		return nil, at, err
	}
	n := len(observed)
	if len(keyA) != n || len(keyB) != n {
		return nil, 0, fmt.Errorf("its columns have unequal lengths: %d key_a, %d key_b, %d value", len(keyA),
			len(keyB), n)
	}
	var o packed.Observation
	for i := range n {
		fits := add(&o.A, keyA[i]) && add(&o.B, keyB[i])
		o.Value = observed[i]
		if !fits || !o.Plausible() {
			return nil, 0, fmt.Errorf("observation %d has a key beyond 2^61", i)
		}
		g.observations.Add(o)
	}
	return g, 0, nil
}
