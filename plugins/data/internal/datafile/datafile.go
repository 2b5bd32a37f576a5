// Package datafile opens the files that data parts read. The source may be a file, a folder of files, a pipe or
// standard input. Files may be compressed.
package datafile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/psbench/psbench/internal/bom"
	"github.com/psbench/psbench/internal/quote"
)

// File is a file to read. Several readers may read it at once unless Anew returns an error.
type File struct {
	name string
	raw  func() (io.ReadCloser, error)
	disk bool
}

// Shown is the file's name, quoted for messages.
func (f File) Shown() string { return quote.Word(f.name) }

// OnDisk returns the file at path. "-" and /dev/stdin are standard input. The writer of a pipe may be silent for
// half the timeout; then the reader reports it, before other processes time out.
func OnDisk(path string, timeout time.Duration) File {
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	return File{path, func() (io.ReadCloser, error) { return openRaw(path, timeout/2) }, true}
}

// InMemory returns a file with the given content.
func InMemory(name string, content []byte) File {
	return File{name, func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }, false}
}

// Open opens the file and decompresses its content if it is compressed in the given one of the Forms. The form auto
// detects the compression from the first bytes. Open starts no goroutine. Errors of Open name the file; errors of
// reading do not, so the caller adds the name.
func (f File) Open(form string) (io.ReadCloser, error) {
	raw, err := f.raw()
	if err != nil {
		return nil, err
	}
	content, err := decompress(raw, form)
	if err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("data file %s: %w", f.Shown(), err)
	}
	return &both{content, content, raw}, nil
}

// OpenText opens a text file as Open does and skips a byte order mark. OpenText refuses content that is not UTF-8
// text.
func (f File) OpenText(form string) (io.ReadCloser, error) {
	content, err := f.Open(form)
	if err != nil {
		return nil, err
	}
	text := bufio.NewReaderSize(content, blockBytes)
	if err = isText(text); err == nil {
		err = bom.Skip(text)
	}
	if err != nil {
		_ = content.Close()
		return nil, fmt.Errorf("data file %s: %w", f.Shown(), err)
	}
	if start, _ := text.Peek(text.Buffered()); bytes.IndexByte(start, '\r') >= 0 && bytes.IndexByte(start, '\n') < 0 {
		return &both{returns{text}, content, nopCloser{}}, nil
	}
	return &both{text, content, nopCloser{}}, nil
}

// returns converts line ends. Spreadsheets that write text for Macintosh end lines with CR alone; returns reads
// them as LF.
type returns struct{ io.Reader }

func (r returns) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	for i, c := range p[:n] {
		if c == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

// both reads from one stream. Closing it closes that stream and the underlying file.
type both struct {
	io.Reader
	content, raw io.Closer
}

func (b *both) Close() error { return errors.Join(b.content.Close(), b.raw.Close()) }

type nopCloser struct{}

func (nopCloser) Close() error { return nil }

// taken are the paths of descriptor 3, which psbench sets for its processes. The processes inherit their other
// descriptors.
var taken = []string{"/dev/fd/3", "/proc/self/fd/3"}

// openRaw opens the file at path without decompressing it. A folder is an error.
func openRaw(path string, patience time.Duration) (io.ReadCloser, error) {
	if isInput(path) {
		return openInput(path, patience)
	}
	if slices.Contains(taken, path) {
		return nil, fmt.Errorf(
			"data file %s is a descriptor that psbench uses itself: give it another number, or standard input",
			quote.Word(path))
	}
	info, err := stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode()&os.ModeNamedPipe != 0 {
		return openPipe(path, "data file "+quote.Word(path), patience)
	}
	opened, err := os.Open(path) // #nosec G304 -- the user names the file
	if err != nil {
		return nil, fmt.Errorf("data file %s cannot be opened: %w", quote.Word(path), cause(err))
	}
	return opened, nil
}

// stat returns the file information for a path. A folder is an error.
func stat(path string) (fs.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("data file %s does not exist", quote.Word(path))
	case err != nil:
		return nil, fmt.Errorf("data file %s cannot be opened: %w", quote.Word(path), cause(err))
	case info.IsDir():
		return nil, fmt.Errorf("data file %s is a folder: give the path of a file", quote.Word(path))
	}
	return info, nil
}

// cause removes the operation and the path from err, because the message already has both.
func cause(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Exists returns an error if the path has nothing that can be opened.
func (f File) Exists() error {
	if !f.disk || isInput(f.name) {
		return nil
	}
	_, err := stat(f.name)
	return err
}

// Kind returns the file's name ending, as the function Kind does.
func (f File) Kind() string { return Kind(f.name) }

// Kind returns the ending of a file's name in lower case, such as .csv, without the ending of a
// compressed form.
func Kind(name string) string {
	name = strings.ToLower(name)
	for _, ending := range endings {
		if plain, is := strings.CutSuffix(name, ending); is {
			name = plain
			break
		}
	}
	return filepath.Ext(name)
}

// List returns the file at path, or the files of a folder in the order of their names. List leaves out subfolders,
// and files whose names begin with . or _: Hadoop and Spark use such files as markers.
func List(path string, timeout time.Duration) ([]File, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() || isInput(path) {
		return []File{OnDisk(path, timeout)}, nil // opening the path reports the error
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("data folder %s cannot be read: %w", quote.Word(path), cause(err))
	}
	var files []File
	hidden, folders, unfinished, finished := 0, false, false, false
	for _, e := range entries {
		name := e.Name()
		finished = finished || name == "_SUCCESS"
		unfinished = unfinished || name == "_temporary"
		switch {
		case strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_"):
			hidden++
		case e.IsDir():
			folders = true
		default:
			files = append(files, OnDisk(filepath.Join(path, name), timeout))
		}
	}
	switch {
	case unfinished && !finished:
		return nil,
			fmt.Errorf("data folder %s is not complete: it holds _temporary and no _SUCCESS, so the job that writes it has not ended",
				quote.Word(path))
	case len(files) == 0 && folders:
		return nil, fmt.Errorf(
			"data folder %s holds only folders, whose files are not read: give the path of one of them",
			quote.Word(path))
	case len(files) == 0 && hidden > 0:
		return nil, fmt.Errorf("data folder %s holds no files but %d whose names begin with . or _, which are left out",
			quote.Word(path), hidden)
	case len(files) == 0:
		return nil, fmt.Errorf("data folder %s holds no files", quote.Word(path))
	}
	return files, nil
}
