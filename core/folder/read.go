package folder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/psbench/psbench/core/folder/npy"
	"github.com/psbench/psbench/core/jsonfile"
	"github.com/psbench/psbench/core/result"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// Status is how far the run of a folder came.
type Status struct {
	Complete bool
	// Reason says why it is not complete, in a line; result.Running if it goes on or was never
	// seen to end.
	Reason string
}

// mostReason bounds the reason that is read, in bytes.
const mostReason = 1 << 16

// IsRun says whether dir is a run folder: one with a result or a mark.
func IsRun(dir string) bool {
	for _, name := range []string{resultName, markName} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// StatusOf reads how far the run of a folder came, without its samples.
func StatusOf(dir string) (Status, error) {
	reason, err := readMark(filepath.Join(dir, markName))
	switch {
	case err == nil:
		return Status{Reason: reason}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return Status{}, fmt.Errorf("the state of %s cannot be read: %w", quote.Word(dir), draft.Cause(err))
	case !IsRun(dir):
		return Status{}, fmt.Errorf("%s is no run folder: it has no %s", quote.Word(dir), resultName)
	}
	return Status{Complete: true}, nil
}

func readMark(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no file", markName)
	}
	f, err := os.Open(path) // #nosec G304 -- the user names the folder
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, mostReason))
	if reason := oneLine(string(bytes.ToValidUTF8(text, []byte("?")))); reason != "" {
		return reason, err
	}
	return "nothing says why", err
}

// Read reads a run: a folder, or a file that --json left, of any version. A folder that is marked
// incomplete is read as far as it has a result, which is then not complete.
func Read(path string) (*result.Result, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return result.Read(path)
	}
	return read(path, (*result.Head).Fill)
}

// Head is Read of a folder without its samples: its series and gauges are empty, and it has no losses.
func Head(dir string) (*result.Result, error) {
	return read(dir, func(*result.Head, *npy.Columns) error { return nil })
}

func read(dir string, fill func(*result.Head, *npy.Columns) error) (*result.Result, error) {
	status, err := StatusOf(dir)
	if err != nil {
		return nil, err
	}
	h, err := readHead(dir, result.ParseHead)
	if errors.Is(err, fs.ErrNotExist) && !status.Complete {
		return nil, fmt.Errorf("%s has no result: its run is incomplete: %s", quote.Word(dir), quote.Message(status.Reason))
	}
	if err == nil {
		err = withColumns(dir, h.Files, func(c *npy.Columns) error { return fill(h, c) })
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a run folder that can be read: %w", quote.Word(dir), draft.Cause(err))
	}
	if r := h.Result; !status.Complete && r.Complete { // the mark was never removed
		r.Complete, r.Error = false, status.Reason
	}
	return h.Result, nil
}

// readHead parses result.json.
func readHead[H any](dir string, parse func([]byte) (H, error)) (h H, err error) {
	path := filepath.Join(dir, resultName)
	if info, err := os.Stat(path); err != nil {
		return h, fmt.Errorf("%s: %w", resultName, cause{err})
	} else if !info.Mode().IsRegular() {
		return h, fmt.Errorf("%s is no file", resultName)
	}
	data, err := jsonfile.Read(path)
	if err != nil {
		return h, err
	}
	if h, err = parse(data); err != nil {
		err = fmt.Errorf("%s: %w", resultName, err)
	}
	return h, err
}

// cause is an error of the file system in the words of its cause alone.
type cause struct{ error }

func (c cause) Error() string { return strings.TrimSpace(draft.Cause(c.error).Error()) }
func (c cause) Unwrap() error { return c.error }

// withColumns gives the columns of dir to use.
func withColumns(dir string, files []npy.File, use func(*npy.Columns) error) error {
	c, err := npy.Open(dir, files)
	if err != nil {
		return err
	}
	defer c.Close()
	return use(c)
}
