package datafile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"testing"
)

// noted notes that it was closed.
type noted struct {
	io.Reader
	closed int
}

func (n *noted) Close() error {
	n.closed++
	return errClose
}

var errClose = errors.New("not closed")

// Whatever becomes of a stream, the file below it is closed once, and its error is told.
func TestTheFileIsClosed(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if err := errors.Join(second(w.Write([]byte("text"))), w.Close()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		content, form string
		opens         bool
	}{
		"plain":        {"text", "auto", true},
		"packed":       {packed.String(), "auto", true},
		"other form":   {"text", "gzip", false},
		"unknown form": {"text", "lz4", false},
		"cut off":      {packed.String()[:4], "auto", false},
	} {
		raw := &noted{Reader: bytes.NewReader([]byte(c.content))}
		in, err := File{"log", func() (io.ReadCloser, error) { return raw, nil }}.Open(c.form)
		if (err == nil) != c.opens {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.opens {
			if got, err := io.ReadAll(in); string(got) != "text" || err != nil {
				t.Errorf("%s: it holds %q and %v", name, got, err)
			}
			if err := in.Close(); !errors.Is(err, errClose) {
				t.Errorf("%s: closing it gives %v", name, err)
			}
		}
		if raw.closed != 1 {
			t.Errorf("%s: the file was closed %d times", name, raw.closed)
		}
	}
}

func second[T any](_ T, err error) error { return err }
