package jsonfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/internal/spelling"
)

// walker goes over the tokens of a well-formed text beside the Go type that
// the text is for.
type walker struct {
	name string
	data []byte
	dec  *json.Decoder
	// start is the offset of the last token.
	start int64
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

// here words the place of the last token. To find it takes a look at all text before,
// so only errors do.
func (w *walker) here() string { return Position(w.name, w.data, w.start) }

// tokenBefore is where the last token of a well-formed text starts that starts before
// offset.
func tokenBefore(data []byte, offset int64) int64 {
	w := newWalker("", data)
	for {
		before := w.start
		if _, err := w.next(); err != nil || w.start >= offset {
			return before
		}
	}
}

// value reads one value at the path in the text. t is nil where anything goes.
func (w *walker) value(path string, t reflect.Type) error {
	token, err := w.next()
	if err != nil {
		return err
	}
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch token {
	case json.Delim('{'):
		return w.object(path, t)
	case json.Delim('['):
		return w.list(path, elem(t, reflect.Slice))
	}
	return nil
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
		key, _ := token.(string) // every key of an object is a string
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

// elem is the element type of a container type of that kind, or nil.
func elem(t reflect.Type, container reflect.Kind) reflect.Type {
	if t == nil || t.Kind() != container {
		return nil
	}
	return t.Elem()
}

// fieldsOf are the fields of a struct type by their names in JSON; nil for
// another type.
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
