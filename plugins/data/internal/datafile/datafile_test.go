package datafile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
)

// noted records that it was closed.
type noted struct {
	io.Reader
	closed int
}

func (n *noted) Close() error {
	n.closed++
	return errClose
}

var errClose = errors.New("not closed")

// However reading ends, the underlying file is closed once and its error is reported.
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
		t.Run(name, func(t *testing.T) {
			raw := &noted{Reader: bytes.NewReader([]byte(c.content))}
			in, err := File{"log", func() (io.ReadCloser, error) { return raw, nil }, false}.Open(c.form)
			if (err == nil) != c.opens {
				t.Errorf("%s: %v", name, err)
				return
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
		})
	}
}

func second[T any](_ T, err error) error { return err }

// psbench reads a file as the file's own decompressor does, including several members and padding.
func TestForms(t *testing.T) {
	member := func(text string) string {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if err := errors.Join(second(w.Write([]byte(text))), w.Close()); err != nil {
			t.Fatal(err)
		}
		return packed.String()
	}
	zeros := strings.Repeat("\x00", 10_000)
	for name, c := range map[string]struct{ content, want string }{
		"empty":          {"", ""},
		"members":        {member("a") + member("") + member("b"), "ab"},
		"padding":        {member("a") + zeros, "a"},
		"padding within": {member("a") + zeros + member("b") + "\x00", "ab"},
		"padding, then garbage": {member("a") + zeros + "garbage, no member",
			"the gzip stream is broken: other data follows its last gzip member"},
		"a text of zeros":   {zeros, zeros},
		"a member cut off":  {member("a") + "\x1f", "the gzip stream ends too early"},
		"CR alone":          {member("a,b\r1,2\r"), "a,b\n1,2\n"},
		"CRLF":              {"a,b\r\n1,2\r\n", "a,b\r\n1,2\r\n"},
		"a mark":            {member("\uFEFFa"), "a"},
		"a text like bzip2": {"BZh,1,2\n", "BZh,1,2\n"},
		"xz": {"\xfd7zXZ\x00 ...",
			"data file f: it is compressed by xz, which psbench does not read: decompress it first, by xz -d"},
		"zip": {"PK\x03\x04 ...",
			"data file f: it is a zip archive, which psbench does not read: unpack it first"},
		"Parquet": {"PAR1 ...",
			"data file f: it is a Parquet file, which psbench does not read: write the samples as CSV or JSON lines"},
		"Parquet, compressed": {member("PAR1 ..."),
			"data file f: it is a Parquet file, which psbench does not read: write the samples as CSV or JSON lines"},
		"UTF-16, compressed": {member("\xff\xfea\x00"), "data file f: its text is in UTF-16: save it as UTF-8"},
		"a file cut off":     {member("abc")[:20], "the gzip stream ends too early"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := content(InMemory("f", []byte(c.content))); got != c.want {
				t.Errorf("%s: it holds %.100q, want %q", name, got, c.want)
			}
		})
	}
}

func TestKind(t *testing.T) {
	for path, want := range map[string]string{"a/B.CSV": ".csv", "a.csv.GZ": ".csv", "a.jsonl.zst": ".jsonl",
		"a.tsv.bz2": ".tsv", "a.gz": "", "a": "", "a.csv/part": "", "/dev/fd/63": ""} {
		t.Run(path, func(t *testing.T) {
			if got := Kind(path); got != want {
				t.Errorf("%s is %q, want %q", path, got, want)
			}
		})
	}
}

// For any file content, reading ends and an error is printable.
func FuzzOpen(f *testing.F) {
	for _, seed := range []string{"\x1f\x8b\x08\x00", "\x28\xb5\x2f\xfd", "BZh91AY&SY", "\uFEFFa", "\xff\xfe",
		"PK\x03\x04"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := InMemory("f", data).OpenText("auto")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "data file f: ") {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		if _, err = io.Copy(io.Discard, io.LimitReader(r, 1<<24)); err != nil && err.Error() == "" {
			t.Error("the error says nothing")
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}
