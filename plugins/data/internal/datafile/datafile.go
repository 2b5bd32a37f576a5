// Package datafile opens the files that data parts read, which may be compressed.
package datafile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/psbench/psbench/internal/quote"
)

// File is a file that can be read, several times at once.
type File struct {
	name string
	raw  func() (io.ReadCloser, error)
}

// Shown is the file's name, fit for a message.
func (f File) Shown() string { return quote.Word(f.name) }

// OnDisk is the file of a path.
func OnDisk(path string) File {
	return File{path, func() (io.ReadCloser, error) { return OpenRaw(path) }}
}

// InMemory is a file of a content.
func InMemory(name string, content []byte) File {
	return File{name, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}
}

// Open opens the file and decompresses what is read, if it is compressed in that one of
// the Forms; auto looks at how it begins. It starts no goroutine. The errors of Open name
// the file, those of reading leave that to the caller.
func (f File) Open(form string) (io.ReadCloser, error) {
	raw, err := f.raw()
	if err != nil {
		return nil, err
	}
	text, err := decompress(raw, form)
	if err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("data file %s: %w", f.Shown(), err)
	}
	return &both{text, raw}, nil
}

// both reads a text and closes what it comes from as well.
type both struct {
	io.ReadCloser
	raw io.Closer
}

func (b *both) Close() error { return errors.Join(b.ReadCloser.Close(), b.raw.Close()) }

// OpenRaw opens the file of a path, which must not be a folder, as it is.
func OpenRaw(path string) (*os.File, error) {
	opened, err := os.Open(path) // #nosec G304 -- the user names the file
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("data file %s does not exist", quote.Word(path))
	case err != nil:
		return nil, fmt.Errorf("data file %s cannot be opened: %w", quote.Word(path), cause(err))
	}
	if info, err := opened.Stat(); err == nil && info.IsDir() {
		_ = opened.Close()
		return nil, fmt.Errorf("data file %s is a folder: give the path of a file", quote.Word(path))
	}
	return opened, nil
}

// cause drops the operation and the path, which the message has, from err.
func cause(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}
