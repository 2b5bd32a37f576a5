// Package jsonfile reads JSON files strictly. The files may be gzipped. Every error names the file and, if known, the
// line and column.
package jsonfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"

	"github.com/psbench/psbench/internal/bom"
	"github.com/psbench/psbench/internal/quote"
)

// MaxMiB limits the size of a file in MiB, so that a file like /dev/zero cannot fill the memory.
const MaxMiB = 64

// Read returns the content of a file. An error of Read is one sentence that contains the path.
func Read(path string) ([]byte, error) {
	data, whole, err := ReadStart(path)
	if err == nil && !whole {
		err = TooLarge(path)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// ReadStart returns the first MaxMiB MiB of a file. whole is true if the file has no more.
func ReadStart(path string) (data []byte, whole bool, err error) {
	f, err := os.Open(path) // #nosec G304 -- the user names the file to read
	if err == nil {
		defer func() { _ = f.Close() }()
		data, err = readPlain(f, MaxMiB<<20+1)
	}
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	if err != nil {
		return nil, false, fmt.Errorf("file %s cannot be read: %w", quote.Word(path), err)
	}
	if len(data) > MaxMiB<<20 {
		return data[:MaxMiB<<20], false, nil
	}
	return data, true, nil
}

// readPlain returns the first limit bytes of a text, which may be gzipped (RFC 1952).
func readPlain(r io.Reader, limit int64) ([]byte, error) {
	plain, err := Plain(r)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(plain, limit))
}

// Plain returns the text of r. If the text is gzipped, Plain decompresses it; JSON never begins with gzip's magic
// bytes. Plain strips a byte order mark, and returns an error for text that is not UTF-8.
func Plain(r io.Reader) (io.Reader, error) {
	in := bufio.NewReader(r)
	// If Peek fails, reading the text returns the error again.
	if start, err := in.Peek(2); err == nil && bytes.Equal(start, []byte{0x1f, 0x8b}) {
		out, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("it starts like a gzip file, but is not one: %w", err)
		}
		in = bufio.NewReader(out)
	}
	return in, bom.Skip(in)
}

// TooLarge returns the error of Read for a file above the limit.
func TooLarge(path string) error {
	return fmt.Errorf("file %s has more than %d MiB, the most that psbench reads", quote.Word(path), MaxMiB)
}

// ReadMap reads the file at path and decodes it like Map.
func ReadMap(path string) (map[string]any, error) {
	data, err := Read(path)
	if err != nil {
		return nil, err
	}
	return Map(path, data)
}

// Map decodes an object with any keys. Each key may be given only once. Numbers become json.Number, so that they keep
// all digits. Errors use name for the data.
func Map(name string, data []byte) (map[string]any, error) {
	var m map[string]any
	err := Decode(name, data, &m)
	return m, err
}

// Decode decodes an object into dst, a pointer to a struct or a map. Duplicate keys are errors, and so are keys without
// a field of exactly this name. Integers may be written as 1.0 or 1e3. Errors use name for the data. If name is "",
// errors begin with the position.
func Decode(name string, data []byte, dst any) error {
	var content json.RawMessage
	if err := json.Unmarshal(data, &content); err != nil {
		return located(name, data, err)
	}
	if content[0] != '{' {
		return fmt.Errorf("%s holds %s but must hold an object: {...}", quote.Word(name), kindOf(content))
	}
	w := newWalker(name, data)
	if err := w.value("", reflect.TypeOf(dst).Elem()); err != nil {
		return err
	}
	plain := w.plain()
	dec := json.NewDecoder(bytes.NewReader(plain))
	dec.UseNumber()
	err := dec.Decode(dst)
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) {
		value := strings.TrimPrefix(typ.Value, "number ")
		return fmt.Errorf("%s: the value must be %s, not %s",
			Position(name, data, w.origin(tokenBefore(plain, typ.Offset))), wanted(typ.Type), quote.Text(value))
	}
	return err
}

// located adds the position to a syntax error.
func located(name string, data []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return fmt.Errorf("%s: %w", quote.Word(name), err)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return fmt.Errorf("%s is empty but must hold an object: {...}", quote.Word(name))
	}
	// encoding/json gives the offset after the wrong byte, except for an error at the end of the text.
	offset := syntax.Offset
	if offset > 0 && syntax.Error() != "unexpected end of JSON input" {
		offset--
	}
	return fmt.Errorf("%s: %w", Position(name, data, offset), err)
}

// Position formats a position in a text. The result consists of the name, if any, and the line and column of the byte
// at offset.
func Position(name string, data []byte, offset int64) string {
	if name == "" {
		return Place(data, offset)
	}
	return quote.Word(name) + ", " + Place(data, offset)
}

// Place formats the line and column of the byte at offset. Lines and columns are counted from 1. Columns are counted in
// characters.
func Place(data []byte, offset int64) string {
	before := data[:min(max(offset, 0), int64(len(data)))]
	line := 1 + bytes.Count(before, []byte{'\n'})
	column := 1 + utf8.RuneCount(before[1+bytes.LastIndexByte(before, '\n'):])
	return fmt.Sprintf("line %d, column %d", line, column)
}

// kindOf returns the name of the type of a well-formed JSON value that is not an object.
func kindOf(content json.RawMessage) string {
	switch content[0] {
	case 'n':
		return "null"
	case 't', 'f':
		return "a bool"
	case '"':
		return "a string"
	case '[':
		return "a list"
	default:
		return "a number"
	}
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number of at most 1.8e308"
	case reflect.Uint, reflect.Uint64:
		return "a whole number of 0 or more that fits in 64 bits"
	default:
		return "a whole number that fits in 64 bits"
	}
}
