package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// nameAfter is the name of a file that is made of what lies at a path, in the current folder.
func nameAfter(path, fallback, ending string) string {
	at, err := filepath.Abs(path)
	if path == "-" || err != nil || filepath.Base(at) == "/" {
		return fallback + ending
	}
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(at), ".gz"), ".json") + ending
}

// writeFile has a file appear at once and whole, and says how large it is. What is no file, a device or a
// pipe, is written straight. It is none of those that it is made of.
func writeFile(path string, sources []string, write func(io.Writer) error) (size int64, err error) {
	counted := func(w io.Writer) error {
		c := &counter{Writer: w}
		err := write(c)
		size = c.bytes
		return err
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return 0, err
	case info.IsDir():
		return 0, errors.New("it is a folder: name a file in it")
	case !info.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY, 0) // #nosec G304 -- the user names the file
		if err != nil {
			return 0, err
		}
		return size, errors.Join(counted(f), f.Close())
	default:
		if i := slices.IndexFunc(sources, func(source string) bool {
			at, err := os.Stat(source)
			return err == nil && os.SameFile(info, at)
		}); i >= 0 {
			return 0, fmt.Errorf("it is the run %s that is read", quote.Word(sources[i]))
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return 0, err
		}
	}
	err = draft.Stream(path, counted)
	return size, err
}

// counter counts what is written.
type counter struct {
	io.Writer
	bytes int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.bytes += int64(n)
	return n, err
}
