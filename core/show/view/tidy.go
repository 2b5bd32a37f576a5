package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/psbench/psbench/internal/numeral"
)

// JSON returns the document for a page. Equal documents give equal JSON. It escapes <, > and &, and the line breaks
// that only JavaScript knows.
func (d *Document) JSON() ([]byte, error) {
	var out bytes.Buffer
	if err := json.NewEncoder(&out).Encode(d); err != nil {
		return nil, fmt.Errorf("the document cannot be written: %w", err)
	}
	return out.Bytes(), nil
}

// tidy returns a copy that every page can show. Lists and maps are not null. Values that are not finite become null
// or 0. Texts pass through clean.
func tidy(d *Document) *Document {
	return tidied(reflect.ValueOf(d)).Interface().(*Document)
}

// tidied returns a deep copy, because a document shares lists with its study.
func tidied(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		return reflect.ValueOf(clean(v.String())).Convert(v.Type())
	case reflect.Float64:
		if !numeral.Finite(v.Float()) {
			return reflect.Zero(v.Type())
		}
		return reflect.ValueOf(rounded(v.Float(), mostDigits)).Convert(v.Type())
	case reflect.Pointer:
		if v.IsNil() || v.Elem().Kind() == reflect.Float64 && !numeral.Finite(v.Elem().Float()) {
			return reflect.Zero(v.Type())
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(tidied(v.Elem()))
		return out
	case reflect.Slice:
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(tidied(v.Index(i)))
		}
		return out
	case reflect.Map:
		out := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			out.SetMapIndex(tidied(key), tidied(value))
		}
		return out
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for field, value := range v.Fields() {
			if field.IsExported() {
				out.FieldByIndex(field.Index).Set(tidied(value))
			}
		}
		return out
	}
	return v
}

// mostDigits is the number of significant digits of every number. Further digits would depend on the machine that
// makes the document.
const mostDigits = 12

// mostText is the maximum length of any text in bytes, including logs. More text would be of no use on a page.
const mostText = 8 << 10

// clean makes a foreign text safe for a page and leaves nothing hidden. Invalid UTF-8 becomes U+FFFD. A control
// character becomes its picture, e.g. ESC becomes ␛. Tabs and line breaks stay. Characters that change the text
// direction become U+FFFD, and so do noncharacters.
func clean(s string) string {
	text := shortened(s, mostText)
	if isClean(text) {
		return text
	}
	return strings.Map(picture, text)
}

// shortened cuts a long text and appends its length.
func shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > most-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s... (%d bytes)", s[:cut], len(s))
}

func isClean(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return picture(r) != r })
}

// picture returns the visible replacement of a character.
func picture(r rune) rune {
	switch {
	case r == '\t', r == '\n':
		return r
	case r < ' ':
		return '\u2400' + r
	case r == 0x7f:
		return '\u2421'
	case r >= 0x80 && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x2028, r == 0x2029,
		r >= 0xfdd0 && r <= 0xfdef, r&0xfffe == 0xfffe:
		return utf8.RuneError
	}
	return r
}
