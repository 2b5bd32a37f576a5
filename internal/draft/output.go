package draft

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/psbench/psbench/internal/quote"
)

// Output atomically writes a file that the user names, and returns its size in bytes. Output writes directly to a
// device or a pipe. Output refuses to replace one of the sources of the output. Output also refuses to replace a
// file in a source folder, unless its name ends in ending, which marks an earlier output.
func Output(path, ending string, sources []string, write func(io.Writer) error) (size int64, err error) {
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
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return 0, err
		}
		for _, source := range sources {
			switch at, err := os.Stat(source); {
			case err != nil: // path is standard input
			case os.SameFile(info, at):
				return 0, fmt.Errorf("it is the run %s, which is read: choose another name", quote.Word(source))
			case at.IsDir() && within(path, at) && !strings.HasSuffix(path, ending):
				return 0, fmt.Errorf("it is a file of %s, which is read: choose another name", quote.Word(source))
			}
		}
	}
	err = Stream(path, counted)
	return size, err
}

// within reports whether a file is in a folder or in one of its subfolders.
func within(path string, folder fs.FileInfo) bool {
	dir, err := filepath.Abs(path)
	for err == nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		if at, err := os.Stat(dir); err == nil && os.SameFile(at, folder) {
			return true
		}
	}
	return false
}

// counter counts the bytes that it writes.
type counter struct {
	io.Writer
	bytes int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.bytes += int64(n)
	return n, err
}
