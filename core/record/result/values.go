package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/spelling"
)

// value is the JSON value of a key, with its offset.
type value struct {
	text json.RawMessage
	at   int64
}

// valuesOf returns the values of an object for these keys. valuesOf returns an error if a key has another spelling or
// is given twice.
func valuesOf(text []byte, keys []string) (values map[string]value, at int64, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, 0, fmt.Errorf("it is %s, but must be an object: {...}", quote.Text(string(text)))
	}
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
		key, _ := token.(string) // object keys are always strings
		if !slices.Contains(keys, key) {
			return nil, v.at, fmt.Errorf("unknown key %s; %s", quote.String(key),
				spelling.Choices(key, keys, "keys", ""))
		}
		if _, twice := values[key]; twice {
			return nil, v.at, fmt.Errorf("key %s is given twice", quote.String(key))
		}
		values[key] = v
	}
	return values, 0, nil
}

// headField describes a value that is not a list: its key, what it must be, and where to store it.
type headField struct {
	key, must string
	to        any
}

// headOf stores the values that are not lists. If headOf returns an error, at is the error's offset.
func headOf(values map[string]value, fields ...headField) (at int64, err error) {
	for _, field := range fields {
		v, ok := values[field.key]
		if ok && (string(v.text) == "null" || json.Unmarshal(v.text, field.to) != nil) {
			return v.at, fmt.Errorf("%s is %s but must be %s", field.key, quote.Text(string(v.text)), field.must)
		}
	}
	return 0, nil
}

// column returns the list of a key, or none if the key is absent. The text of an error from the elements' parser
// continues a sentence about the list. If column returns an error, at is its offset.
func column[T any](values map[string]value, key string, of elements[T]) (column []T, at int64, err error) {
	v := values[key]
	column, off, err := of.list(v.text)
	if err != nil {
		return nil, v.at + int64(off), fmt.Errorf("%s %w", key, err)
	}
	return column, 0, nil
}

// elements describes the elements of a list.
type elements[T any] struct {
	what  string // such as "whole numbers"
	parse func(text []byte) (T, error)
}

var (
	wholeNumbers = elements[int64]{"whole numbers", func(text []byte) (int64, error) {
		x, err := strconv.ParseInt(string(text), 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			err = fmt.Errorf("has %s, which is beyond 2^61", quote.Text(string(text)))
		} else if err != nil {
			err = fmt.Errorf("has %s but must have whole numbers", quote.Text(string(text)))
		}
		return x, err
	}}
	numbersOrNull = elements[float64]{"numbers", func(text []byte) (float64, error) {
		if string(text) == "null" {
			return math.NaN(), nil
		}
		x, err := strconv.ParseFloat(string(text), 64)
		if err != nil || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
			err = fmt.Errorf("has %s but must have numbers that a float64 can hold, or null", quote.Text(string(text)))
		}
		return x, err
	}}
)

// list parses a well-formed list or an empty text. The text of an error continues a sentence about the list, and at is
// its offset. list is far faster than encoding/json.
func (e elements[T]) list(text []byte) (out []T, at int, err error) {
	if len(text) == 0 {
		return nil, 0, nil
	}
	if text[0] != '[' {
		return nil, 0, fmt.Errorf("is %s, but must be a list of %s", quote.Text(string(text)), e.what)
	}
	inside := text[1 : len(text)-1]
	if len(bytes.TrimSpace(inside)) == 0 {
		return nil, 0, nil
	}
	out = make([]T, 0, 1+bytes.Count(inside, []byte{','}))
	at = 1
	for element := range bytes.SplitSeq(inside, []byte{','}) {
		x, err := e.parse(bytes.TrimSpace(element))
		if err != nil {
			return nil, at + len(element) - len(bytes.TrimLeft(element, " \t\r\n")), err
		}
		out = append(out, x)
		at += len(element) + 1
	}
	return out, 0, nil
}

// add adds y to x, and reports whether the sum does not overflow.
func add(x *int64, y int64) bool {
	sum := *x + y
	fits := (sum > *x) == (y > 0)
	*x = sum
	return fits
}
