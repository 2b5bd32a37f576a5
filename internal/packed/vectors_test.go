package packed

import (
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"github.com/psbench/psbench/internal/golden"
)

// vectors are measurements and observations with their bytes, for implementations in other languages.
type vectors struct {
	Measurements []vector[[4]int64] `json:"measurements"` // key, start and duration in ns
	Observations []vector[[3]any]   `json:"observations"` // key, and value as text
}

type vector[T any] struct {
	Name   string `json:"name"`
	Values []T    `json:"values"`
	Hex    string `json:"hex"`
}

var measurementVectors = map[string][][4]int64{
	"a key that counts": {{0, 0, 1000, 5}, {0, 1, 1255, 16}, {0, 2, 1255, 0}, {1, 0, 2000, 255},
		{2, 0, 3000, 4095}},
	"any key":                   {{7, -3, 1, 1}, {5, 100, 2, 2}, {-1 << 61, 1 << 61, 3, 3}},
	"a long time":               {{0, 1, 1 << 28, 1<<28 - 1}, {0, 2, 1<<29 - 1, 1 << 28}, {0, 3, 1 << 61, 1 << 61}},
	"times that go back":        {{0, 1, 1000, 10}, {0, 2, 900, -10}, {0, 3, -1 << 61, -1 << 61}},
	"the example of the page":   {{3, 0, 1_000_000, 250_000}, {3, 1, 1_000_300, 4_095}},
	"odd and even half bytes":   {{0, 1, 15, 15}, {0, 2, 31, 16}, {0, 3, 287, 255}, {0, 4, 288, 256}},
	"the largest without a sum": {{1, 0, 0xfffffff, 0xfffffff}},
}

var observationVectors = map[string][][3]any{
	"small whole numbers": {{0, 1, "0"}, {0, 2, "1"}, {0, 3, "-2"}, {0, 4, "3"}, {1, 0, "255"}},
	"any numbers":         {{0, 0, "0.1"}, {1, 0, "1e300"}, {9, 9, "-1.5"}, {-5, 8, "5e-324"}},
	"not finite":          {{0, 1, "+Inf"}, {0, 2, "-Inf"}, {0, 3, "-0"}},
}

// The committed vectors match the output of this package.
func TestVectors(t *testing.T) {
	var v vectors
	for _, name := range sorted(measurementVectors) {
		var l List[Measurement]
		for _, m := range measurementVectors[name] {
			l.Add(Measurement{m[0], m[1], m[2], m[3]})
		}
		v.Measurements = append(v.Measurements,
			vector[[4]int64]{name, measurementVectors[name], hex.EncodeToString(l.Chunks()[0].Bytes())})
	}
	for _, name := range sorted(observationVectors) {
		var l List[Observation]
		for _, o := range observationVectors[name] {
			value, err := strconv.ParseFloat(o[2].(string), 64)
			if err != nil {
				t.Fatal(err)
			}
			l.Add(Observation{int64(o[0].(int)), int64(o[1].(int)), value})
		}
		v.Observations = append(v.Observations,
			vector[[3]any]{name, observationVectors[name], hex.EncodeToString(l.Chunks()[0].Bytes())})
	}
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Require(t, "testdata/vectors.json", string(text)+"\n")
}

func sorted[T any](of map[string]T) []string {
	var names []string
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
