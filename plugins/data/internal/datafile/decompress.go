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

// Forms are the accepted values for a file's compression.
var Forms = []string{"auto", "none", "gzip", "zstd", "bzip2"}

// endings are the name endings of compressed files, including those of formats that psbench cannot read.
var endings = []string{".gz", ".gzip", ".bgz", ".zst", ".zstd", ".bz2", ".xz", ".lz4", ".zip"}

// magic holds the first bytes of each compressed format (RFC 1952, RFC 8878). In bzip2, a digit follows them.
var magic = map[string][]byte{
	"gzip":  {0x1f, 0x8b},
	"zstd":  {0x28, 0xb5, 0x2f, 0xfd},
	"bzip2": []byte("BZh"),
}

// sort describes a file of an unsupported format: its first bytes, its name, and the remedy.
type sort struct{ magic, name, remedy string }

// packed are compression formats that psbench cannot read.
var packed = []sort{
	{"\xfd7zXZ\x00", "compressed by xz", "decompress it first, by xz -d"},
	{"\x04\x22\x4d\x18", "compressed by lz4", "decompress it first, by lz4 -d"},
	{"\xff\x06\x00\x00sNaPpY", "compressed by snappy", "decompress it first"},
	{"\x1f\x9d", "compressed by compress", "decompress it first, by gzip -d"},
	{"7z\xbc\xaf\x27\x1c", "an archive of 7-Zip", "unpack it first"},
	{"PK\x03\x04", "a zip archive", "unpack it first"},
}

// binary are formats that a user may give where psbench expects text.
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
	// magicBytes is the length of the longest magic.
	magicBytes = 10
	// maxWindow limits the memory of a zstd decoder. The zstd program has the same default limit.
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
		// A text may begin like bzip2. In a real bzip2 file, the digits of pi follow.
		if bytes.HasPrefix(start, want) && (form != "bzip2" || strings.HasSuffix(string(start), "1AY&SY")) {
			return form
		}
	}
	return "none"
}

// isText refuses a file whose first bytes belong to a format that is not text.
func isText(in *bufio.Reader) error {
	start, _ := in.Peek(magicBytes) // reading the text reports an error again
	return none(binary, start)
}

// none refuses a file that begins like one of these formats.
func none(sorts []sort, start []byte) error {
	i := slices.IndexFunc(sorts, func(s sort) bool { return strings.HasPrefix(string(start), s.magic) })
	if i < 0 {
		return nil
	}
	return fmt.Errorf("it is %s, which psbench does not read: %s", sorts[i].name, sorts[i].remedy)
}

// members reads the members of a gzip file one after the other. Like the gzip program, it accepts zeros after the
// last member, which tapes and fixed-size blocks leave.
type members struct {
	in *bufio.Reader
	*gzip.Reader
}

// begin starts the next member.
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

// errAfter reports unexpected bytes after the last member.
var errAfter = errors.New("other data follows its last gzip member")

// skipZeros skips zeros and returns io.EOF if nothing follows them.
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

// decoder rewords the errors of a compressed stream.
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

// Close returns no error: Read has already reported any error of the stream.
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
