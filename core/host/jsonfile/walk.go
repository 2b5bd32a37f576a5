package jsonfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/psbench/psbench/internal/numeral"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/spelling"
)

// walker visits the tokens of a well-formed text, together with the Go type that each value is decoded into.
type walker struct {
	name string
	data []byte
	dec  *json.Decoder
	// start is the offset of the last token.
	start int64
	whole []whole // integers in the order of the text
}

// whole is an integer that is written in another way, such as 1.0 or 1e3.
type whole struct {
	at, length int64 // offset and length of the integer's text
	digits     string
}

func newWalker(name string, data []byte) *walker {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return &walker{name: name, data: data, dec: dec}
}

func (w *walker) next() (json.Token, error) {
	between := w.data[w.dec.InputOffset():]
	w.start = int64(len(w.data) - len(bytes.TrimLeft(between, " \t\r\n,:")))
	return w.dec.Token()
}

// here formats the position of the last token. here scans all text before the token, so it is called only for errors.
func (w *walker) here() string { return Position(w.name, w.data, w.start) }

// tokenBefore returns the start of the last token that starts before offset. The text must be well-formed.
func tokenBefore(data []byte, offset int64) int64 {
	w := newWalker("", data)
	for {
		before := w.start
		if _, err := w.next(); err != nil || w.start >= offset {
			return before
		}
	}
}

// value reads one value. path is its position in the object. t is its Go type, or nil if any value is allowed.
func (w *walker) value(path string, t reflect.Type) error {
	token, err := w.next()
	if err != nil {
		return err
	}
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if number, is := token.(json.Number); is && isInteger(t) {
		w.number(string(number))
	}
	switch token {
	case json.Delim('{'):
		return w.object(path, t)
	case json.Delim('['):
		return w.list(path, elem(t, reflect.Slice))
	}
	return nil
}

func isInteger(t reflect.Type) bool {
	return t != nil && reflect.Int <= t.Kind() && t.Kind() <= reflect.Uint64
}

// number records the last token if it is an integer that is not written as plain digits.
func (w *walker) number(text string) {
	if digits, err := numeral.Whole(text); err == nil && digits != text {
		w.whole = append(w.whole, whole{w.start, int64(len(text)), digits})
	}
}

// plain returns the text with all integers written as plain digits, as encoding/json requires.
func (w *walker) plain() []byte {
	if len(w.whole) == 0 {
		return w.data
	}
	var out []byte
	from := int64(0)
	for _, n := range w.whole {
		out = append(append(out, w.data[from:n.at]...), n.digits...)
		from = n.at + n.length
	}
	return append(out, w.data[from:]...)
}

// origin converts an offset in the result of plain to an offset in the original text.
func (w *walker) origin(offset int64) int64 {
	for _, n := range w.whole {
		if offset <= n.at {
			break
		}
		offset += n.length - int64(len(n.digits))
	}
	return offset
}

func (w *walker) list(path string, element reflect.Type) error {
	for w.dec.More() {
		if err := w.value(path, element); err != nil {
			return err
		}
	}
	_, err := w.next()
	return err
}

func (w *walker) object(path string, t reflect.Type) error {
	fields := fieldsOf(t)
	seen := map[string]bool{}
	for w.dec.More() {
		token, err := w.next()
		if err != nil {
			return err
		}
		key, _ := token.(string) // object keys are always strings
		if seen[key] {
			return fmt.Errorf("%s: key %s is given twice", w.here(), quote.String(inside(path, key)))
		}
		seen[key] = true
		value := elem(t, reflect.Map)
		if fields != nil {
			known := false
			if value, known = fields[key]; !known {
				return fmt.Errorf("%s: %w", w.here(), unknown(path, key, fields))
			}
		}
		if err := w.value(inside(path, key), value); err != nil {
			return err
		}
	}
	_, err := w.next()
	return err
}

func unknown(path, key string, fields map[string]reflect.Type) error {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	where := ""
	if path != "" {
		where = " of " + quote.Word(path)
	}
	return fmt.Errorf("unknown key %s%s%s", quote.String(key), where, spelling.Hint(key, names, "keys", ""))
}

func inside(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// elem returns the element type of a container type. elem returns nil if t is not a container of this kind.
func elem(t reflect.Type, container reflect.Kind) reflect.Type {
	if t == nil || t.Kind() != container {
		return nil
	}
	return t.Elem()
}

// fieldsOf returns the fields of a struct type by JSON name. fieldsOf returns nil for other types.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			fields[name] = f.Type
		}
	}
	return fields
}
