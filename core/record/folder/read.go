package folder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/psbench/psbench/core/host/jsonfile"
	"github.com/psbench/psbench/core/record/folder/npy"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// Status says whether the run in a folder is complete.
type Status struct {
	Complete bool
	// Reason says in one line why the run is not complete. Reason is result.Running if the run is still going on or was
	// killed.
	Reason string
}

// mostReason limits how many bytes of the reason are read.
const mostReason = 1 << 16

// IsRun reports whether dir is a run folder. A run folder contains a result or a mark.
func IsRun(dir string) bool {
	for _, name := range []string{resultName, markName} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// StatusOf reads the status of a run folder. StatusOf does not read samples.
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

// Document is the result.json of psbench run or psbench comm.
type Document interface {
	// Files returns the columns that hold the samples of the document.
	Files() []npy.File
	// Fill reads the samples from the columns.
	Fill(*npy.Columns) error
	// Interrupted records why the run is not complete, unless the result already says so.
	Interrupted(reason string)
}

// Read reads a run of any version, from a run folder or from a file that --json wrote. If the folder is marked
// incomplete, Read returns the part of the result that exists, marked incomplete.
func Read(path string) (*result.Result, error) {
	if !isDir(path) {
		return result.Read(path)
	}
	h, err := Load(path, result.ParseHead)
	if err != nil {
		return nil, err
	}
	return h.Result, nil
}

// Head reads a run folder without its samples. Series and gauges of the result are empty, and it has no losses.
func Head(dir string) (*result.Result, error) {
	h, err := load(dir, result.ParseHead, func(*result.Head, *npy.Columns) error { return nil })
	if err != nil {
		return nil, err
	}
	return h.Result, nil
}

// IsComm reports whether dir contains the result of psbench comm.
func IsComm(dir string) bool {
	var head struct {
		Schema string `json:"schema"`
	}
	text, err := readHead(dir, func(data []byte) ([]byte, error) { return data, nil })
	return err == nil && json.Unmarshal(text, &head) == nil && strings.HasPrefix(head.Schema, "psbench.comm/")
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Load reads the result in dir. parse parses the text of result.json.
func Load[H Document](dir string, parse func([]byte) (H, error)) (H, error) {
	var text []byte
	keep := func(data []byte) (H, error) {
		text = data
		return parse(data)
	}
	return load(dir, keep, func(h H, c *npy.Columns) error {
		if err := checkNumbers(text, c); err != nil {
			return err
		}
		return h.Fill(c)
	})
}

func load[H Document](dir string, parse func([]byte) (H, error), fill func(H, *npy.Columns) error) (H, error) {
	var none H
	status, err := StatusOf(dir)
	if err != nil {
		return none, err
	}
	h, err := readHead(dir, parse)
	if errors.Is(err, fs.ErrNotExist) && !status.Complete {
		return none, fmt.Errorf("%s has no result: its run is incomplete: %s", quote.Word(dir),
			quote.Message(status.Reason))
	}
	if err == nil {
		err = withColumns(dir, h.Files(), func(c *npy.Columns) error { return fill(h, c) })
	}
	if err != nil {
		return none, fmt.Errorf("%s is not a run folder that can be read: %w", quote.Word(dir), draft.Cause(err))
	}
	if !status.Complete { // the result may be complete although its mark was never removed
		h.Interrupted(status.Reason)
	}
	return h, nil
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

// cause wraps a file system error and prints only the error's cause.
type cause struct{ error }

func (c cause) Error() string { return strings.TrimSpace(draft.Cause(c.error).Error()) }
func (c cause) Unwrap() error { return c.error }

// withColumns opens the columns of dir and calls use with them.
func withColumns(dir string, files []npy.File, use func(*npy.Columns) error) error {
	c, err := npy.Open(dir, files)
	if err != nil {
		return err
	}
	defer c.Close()
	return use(c)
}
