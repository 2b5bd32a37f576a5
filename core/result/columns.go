package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/psbench/psbench/internal/packed"
	"github.com/psbench/psbench/internal/quote"
)

// columns are a Series as JSON holds it: for each measurement a number in each column. A
// difference is that to the measurement before.
type columns struct {
	seriesHead
	KeyA       []int64 `json:"key_a" jsonschema_description:"differences of the first numbers of the keys, that of the first one to 0"`
	KeyB       []int64 `json:"key_b" jsonschema_description:"the same of the second numbers"`
	StartNS    []int64 `json:"start_ns" jsonschema_description:"differences of the starts, that of the first one to started_ns"`
	DurationNS []int64 `json:"duration_ns"`
}

type seriesHead struct {
	Rank int    `json:"rank"`
	Type string `json:"type"` // e.g. "forward_metric"
	Name string `json:"name"` // e.g. "forward_pass"
}

var columnNames = []string{"key_a", "key_b", "start_ns", "duration_ns"}

// parseColumns reads a series as a file has it: its starts count from the start of the run. An
// error comes with its offset in text, and with the series if its rank, type and name are known.
func parseColumns(text []byte) (s *Series, at int64, err error) {
	values, at, err := valuesOf(text)
	if err != nil {
		return nil, at, err
	}
	var h seriesHead
	for _, field := range []struct {
		key, must string
		to        any
	}{{"rank", "a whole number", &h.Rank}, {"type", "a string", &h.Type}, {"name", "a string", &h.Name}} {
		v, ok := values[field.key]
		if ok && (string(v.text) == "null" || json.Unmarshal(v.text, field.to) != nil) {
			return nil, v.at, fmt.Errorf("%s is %s but must be %s", field.key, quote.Text(string(v.text)), field.must)
		}
	}
	s = NewSeries(h.Rank, h.Type, h.Name)
	columns := make([][]int64, len(columnNames))
	for i, name := range columnNames {
		v := values[name]
		var off int
		if columns[i], off, err = wholeNumbers(v.text); err != nil {
			return s, v.at + int64(off), fmt.Errorf("%s %w", name, err)
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

// value is the value of a key, and where it starts.
type value struct {
	text json.RawMessage
	at   int64
}

// valuesOf are the values of a series by their keys, which stand there once, spelt exactly.
func valuesOf(text []byte) (values map[string]value, at int64, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, 0, fmt.Errorf("it is %s, but must be an object: {...}", quote.Text(string(text)))
	}
	keys := append([]string{"rank", "type", "name"}, columnNames...)
	values = map[string]value{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, 0, err
		}
		var v value
		if err := d.Decode(&v.text); err != nil {
			return nil, 0, err
		}
		v.at = d.InputOffset() - int64(len(v.text))
		key, _ := token.(string) // every key of an object is a string
		if !slices.Contains(keys, key) {
			return nil, v.at, fmt.Errorf("unknown key %s; the keys are %s", quote.String(key), strings.Join(keys, ", "))
		}
		if _, twice := values[key]; twice {
			return nil, v.at, fmt.Errorf("key %s is given twice", quote.String(key))
		}
		values[key] = v
	}
	return values, 0, nil
}

// wholeNumbers reads a list, which is well-formed, or nothing. An error continues a sentence
// about it and comes with its offset. It is far faster than encoding/json, and takes no null.
func wholeNumbers(list []byte) (numbers []int64, at int, err error) {
	if len(list) == 0 {
		return nil, 0, nil
	}
	if list[0] != '[' {
		return nil, 0, fmt.Errorf("is %s, but must be a list of whole numbers", quote.Text(string(list)))
	}
	inside := list[1 : len(list)-1]
	if len(bytes.TrimSpace(inside)) == 0 {
		return nil, 0, nil
	}
	numbers = make([]int64, 0, 1+bytes.Count(inside, []byte{','}))
	at = 1
	for element := range bytes.SplitSeq(inside, []byte{','}) {
		before := len(element) - len(bytes.TrimLeft(element, " \t\r\n"))
		text := bytes.TrimSpace(element)
		x, err := strconv.ParseInt(string(text), 10, 64)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return nil, at + before, fmt.Errorf("has %s, which is beyond 2^61", quote.Text(string(text)))
		case err != nil:
			return nil, at + before, fmt.Errorf("has %s but must have whole numbers", quote.Text(string(text)))
		}
		numbers = append(numbers, x)
		at += len(element) + 1
	}
	return numbers, 0, nil
}

// add adds y to x and says whether the sum fits.
func add(x *int64, y int64) bool {
	sum := *x + y
	fits := (sum > *x) == (y > 0)
	*x = sum
	return fits
}
