package datafile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/psbench/psbench/internal/quote"
)

// Forms are what a file may be.
var Forms = []string{"auto", "none", "gzip", "zstd"}

// magic is how a stream of each compressed form begins (RFC 1952, RFC 8878).
var magic = map[string][]byte{
	"gzip": {0x1f, 0x8b},
	"zstd": {0x28, 0xb5, 0x2f, 0xfd},
}

const (
	blockBytes = 64 << 10
	// maxWindow bounds the memory of a zstd decoder. The program zstd reads no larger
	// window either unless it is told to.
	maxWindow = 128 << 20
)

func decompress(r io.Reader, form string) (io.ReadCloser, error) {
	in := bufio.NewReaderSize(r, blockBytes)
	start, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if form == "auto" {
		form = formOf(start)
	}
	if want := magic[form]; !bytes.HasPrefix(start, want) {
		return nil, fmt.Errorf("a %s stream begins with the bytes % x but the file with %q", form, want, start)
	}
	switch form {
	case "none":
		return io.NopCloser(in), nil
	case "gzip":
		out, err := gzip.NewReader(in)
		if err != nil {
			return nil, broken(form, err)
		}
		return &decoder{out, form}, nil
	case "zstd":
		out, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, broken(form, err)
		}
		return &decoder{out.IOReadCloser(), form}, nil
	default:
		return nil, fmt.Errorf("the compression is %s but must be one of %q", quote.String(form), Forms)
	}
}

func formOf(start []byte) string {
	for form, want := range magic {
		if bytes.HasPrefix(start, want) {
			return form
		}
	}
	return "none"
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
