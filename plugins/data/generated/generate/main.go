// Command generate writes the built-in samples. Every run writes the same bytes.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// write writes all samples into the parent folder.
func write() error {
	images, labels := digits()
	for _, f := range []struct {
		name    string
		content []byte
		pack    func(io.Writer) (io.WriteCloser, error)
	}{
		{"clicks.tsv.zst", clicks(), asZstd},
		{"digits-images-idx3-ubyte.gz", images, asGzip},
		{"digits-labels-idx1-ubyte.gz", labels, asGzip},
	} {
		packed, err := pack(f.content, f.pack)
		if err != nil {
			return fmt.Errorf("%s cannot be compressed: %w", f.name, err)
		}
		if err := os.WriteFile(f.name, packed, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func pack(content []byte, form func(io.Writer) (io.WriteCloser, error)) ([]byte, error) {
	var out bytes.Buffer
	w, err := form(&out)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

func asZstd(w io.Writer) (io.WriteCloser, error) {
	return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
}

func asGzip(w io.Writer) (io.WriteCloser, error) {
	return gzip.NewWriterLevel(w, gzip.BestCompression)
}
