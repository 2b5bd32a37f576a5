package datafile

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/psbench/psbench/internal/quote"
)

// Forms are what a file may be.
var Forms = []string{"auto", "none", "gzip", "zstd", "bzip2"}

// endings are the name endings of compressed files, including forms that psbench cannot read.
var endings = []string{".gz", ".gzip", ".bgz", ".zst", ".zstd", ".bz2", ".xz", ".lz4", ".zip"}

// magic is how a stream of each compressed form begins (RFC 1952, RFC 8878; bzip2 has a digit after it).
var magic = map[string][]byte{
	"gzip":  {0x1f, 0x8b},
	"zstd":  {0x28, 0xb5, 0x2f, 0xfd},
	"bzip2": []byte("BZh"),
}

// sort is what a file may be instead, by how it begins, and what to do with it.
type sort struct{ magic, name, remedy string }

// packed are forms of compression that are not read.
var packed = []sort{
	{"\xfd7zXZ\x00", "compressed by xz", "decompress it first, by xz -d"},
	{"\x04\x22\x4d\x18", "compressed by lz4", "decompress it first, by lz4 -d"},
	{"\xff\x06\x00\x00sNaPpY", "compressed by snappy", "decompress it first"},
	{"\x1f\x9d", "compressed by compress", "decompress it first, by gzip -d"},
	{"7z\xbc\xaf\x27\x1c", "an archive of 7-Zip", "unpack it first"},
	{"PK\x03\x04", "a zip archive", "unpack it first"},
}

// binary are files of other formats where a text should be.
var binary = []sort{
	{"PAR1", "a Parquet file", "write the samples as CSV or JSON lines"},
	{"ARROW1", "an Arrow file", "write the samples as CSV or JSON lines"},
	{"ORC", "an ORC file", "write the samples as CSV or JSON lines"},
	{"Obj\x01", "an Avro file", "write the samples as CSV or JSON lines"},
	{"\x93NUMPY", "a NumPy array", "write the samples as CSV or JSON lines"},
	{"\x89HDF", "an HDF5 file", "write the samples as CSV or JSON lines"},
}

const (
	blockBytes = 64 << 10
	// magicBytes is as long as any magic is.
	magicBytes = 10
	// maxWindow bounds the memory of a zstd decoder. It is also the default limit of the program
	// zstd.
	maxWindow = 128 << 20
)

func decompress(r io.Reader, form string) (io.ReadCloser, error) {
	in := bufio.NewReaderSize(r, blockBytes)
	start, err := in.Peek(magicBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if form == "auto" {
		if err := none(packed, start); err != nil {
			return nil, err
		}
		form = formOf(start)
	}
	if want := magic[form]; !bytes.HasPrefix(start, want) {
		return nil, fmt.Errorf("a %s stream begins with the bytes % x but the file with %q", form, want,
			start[:min(4, len(start))])
	}
	switch form {
	case "none":
		return io.NopCloser(in), nil
	case "gzip":
		out := &members{in: in}
		if err := out.begin(); err != nil {
			return nil, broken(form, err)
		}
		return &decoder{out, form}, nil
	case "zstd":
		out, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, broken(form, err)
		}
		return &decoder{out.IOReadCloser(), form}, nil
	case "bzip2":
		return &decoder{io.NopCloser(bzip2.NewReader(in)), form}, nil
	default:
		return nil, fmt.Errorf("the compression is %s but must be one of %q", quote.String(form), Forms)
	}
}

func formOf(start []byte) string {
	for form, want := range magic {
		// A text may begin as bzip2 does; the digits of pi follow there.
		if bytes.HasPrefix(start, want) && (form != "bzip2" || strings.HasSuffix(string(start), "1AY&SY")) {
			return form
		}
	}
	return "none"
}

// isText refuses what begins as a file of a format that is no text.
func isText(in *bufio.Reader) error {
	start, _ := in.Peek(magicBytes) // an error is met again where the text is read
	return none(binary, start)
}

// none refuses what begins as one of these.
func none(sorts []sort, start []byte) error {
	i := slices.IndexFunc(sorts, func(s sort) bool { return strings.HasPrefix(string(start), s.magic) })
	if i < 0 {
		return nil
	}
	return fmt.Errorf("it is %s, which psbench does not read: %s", sorts[i].name, sorts[i].remedy)
}

// members reads the members of a gzip file one after the other, and the zeros that tapes and blocks of
// fixed size leave after the last one, as the program gzip does.
type members struct {
	in *bufio.Reader
	*gzip.Reader
}

// begin begins a member.
func (m *members) begin() (err error) {
	if m.Reader == nil {
		m.Reader, err = gzip.NewReader(m.in)
	} else {
		err = m.Reset(m.in)
	}
	if err == nil {
		m.Multistream(false)
	}
	return err
}

// Read implements io.Reader.
func (m *members) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	if err := m.skipZeros(); err != nil {
		return n, err
	}
	switch start, err := m.in.Peek(len(magic["gzip"])); {
	case err != nil && !errors.Is(err, io.EOF):
		return n, err
	case !bytes.HasPrefix(magic["gzip"], start):
		return n, errAfter
	}
	return n, m.begin()
}

// errAfter is an error about what follows the last member.
var errAfter = errors.New("it has ended, and what follows it is no gzip")

// skipZeros returns io.EOF where nothing comes after the zeros.
func (m *members) skipZeros() error {
	for {
		b, err := m.in.ReadByte()
		if err != nil {
			return err
		}
		if b != 0 {
			return m.in.UnreadByte()
		}
	}
}

// decoder words the errors of a stream.
type decoder struct {
	io.ReadCloser
	form string
}

func (d *decoder) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = broken(d.form, err)
	}
	return n, err
}

// Close returns no error: what is wrong with the stream, Read has told.
func (d *decoder) Close() error {
	_ = d.ReadCloser.Close()
	return nil
}

func broken(form string, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("the %s stream ends too early", form)
	}
	return fmt.Errorf("the %s stream is broken: %w", form, err)
}
