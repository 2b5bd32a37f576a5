// Package bom removes the byte order mark that Windows writes before a text. The package also recognises texts in
// other encodings than UTF-8 by their marks.
package bom

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// others are the marks of other encodings. A UTF-32 mark begins like a UTF-16 mark.
var others = []struct{ encoding, mark string }{
	{"UTF-32", "\xff\xfe\x00\x00"}, {"UTF-32", "\x00\x00\xfe\xff"},
	{"UTF-16", "\xff\xfe"}, {"UTF-16", "\xfe\xff"},
}

// longest is the length of the longest mark.
const longest = 4

var mark = []byte("\uFEFF")

// Cut returns the text without its mark. A text in UTF-16 or UTF-32 is an error.
func Cut(text []byte) ([]byte, error) {
	for _, o := range others {
		if bytes.HasPrefix(text, []byte(o.mark)) {
			return nil, fmt.Errorf("its text is in %s: save it as UTF-8", o.encoding)
		}
	}
	return bytes.TrimPrefix(text, mark), nil
}

// Skip skips the mark of the text that r is about to read, with the errors of Cut. If r fails, reading the text
// reports the error.
func Skip(r *bufio.Reader) error {
	start, err := r.Peek(longest)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	rest, err := Cut(start)
	if err != nil {
		return err
	}
	_, err = r.Discard(len(start) - len(rest))
	return err
}
