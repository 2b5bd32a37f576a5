// Package folder writes and reads run folders. A run folder contains the result, its samples as columns that numpy can
// load, and the output of each process. docs/result.md describes the files.
package folder

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/psbench/psbench/core/record/folder/npy"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// These are the names in a run folder, in addition to npy.Folder.
const (
	resultName = "result.json"
	logsName   = "logs"
	// markName is a file that exists while the run is not complete. The line in this file says why.
	markName = "incomplete"
)

// Result is the result of psbench run or psbench comm. The samples of a Result are stored in columns.
type Result interface {
	// State reports whether the run is complete, and if not, why.
	State() (complete bool, reason string)
	Columns() []npy.Column
	// EncodeHead returns the result as JSON. The JSON lists the given files instead of the samples.
	EncodeHead(files []npy.File) ([]byte, error)
}

// Folder is the folder of a run that is in progress.
type Folder struct {
	path string
	// Moved is called after each piece of data that is written to disk.
	Moved func()
}

// Create makes dir a run folder with the mark result.Running. If dir exists, it must be empty.
func Create(dir string) (*Folder, error) {
	f := &Folder{path: dir, Moved: func() {}}
	if err := f.create(); err != nil {
		return nil, fmt.Errorf("the run folder %s cannot be made: %w", quote.Word(dir), draft.Cause(err))
	}
	return f, nil
}

// Vacant returns an error if dir cannot become a run folder.
func Vacant(dir string) error {
	if err := vacant(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the run folder %s cannot be made: %w", quote.Word(dir), draft.Cause(err))
	}
	return nil
}

func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("it has %s in it: name a folder that is empty or does not exist",
			quote.Word(entries[0].Name()))
	}
	return err
}

func (f *Folder) create() error {
	if f.path == "" {
		return errors.New("its path is empty: name a folder")
	}
	if err := os.MkdirAll(f.path, 0o777); err != nil { // #nosec G301 -- the user's umask
		return err
	}
	if err := vacant(f.path); err != nil {
		return err
	}
	// If two processes find the folder empty, only one of them can create the mark.
	mark, err := os.OpenFile(f.in(markName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // #nosec G302 -- the user's umask
	if err != nil {
		return err
	}
	_, err = mark.WriteString(result.Running + "\n")
	if err == nil {
		err = mark.Sync()
	}
	if cerr := mark.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Mkdir(f.Logs(), 0o777) // #nosec G301 -- the user's umask
	}
	if err == nil {
		err = draft.SyncFolder(f.path)
	}
	return err
}

func (f *Folder) in(name string) string { return filepath.Join(f.path, name) }

// Logs returns the path of the folder for the output of the processes.
func (f *Folder) Logs() string { return f.in(logsName) }

// Write stores r in the folder. Write must be called only once. If r is complete, Write removes the mark as its last
// step. Otherwise Write writes into the mark why r is incomplete. If Write fails, no part of r remains.
func (f *Folder) Write(r Result) error {
	if err := f.write(r); err != nil {
		return fmt.Errorf("the result cannot be written to %s: %w", quote.Word(f.path), draft.Cause(err))
	}
	return nil
}

func (f *Folder) write(r Result) error {
	text, err := r.EncodeHead(nil)
	if err != nil {
		return err
	}
	numbers, err := numbersOf(text)
	if err != nil {
		return err
	}
	files, err := f.writeSamples(append(r.Columns(), columnOf(numbers)))
	if err != nil {
		return err
	}
	text, err = r.EncodeHead(files)
	if err == nil {
		err = draft.Write(f.in(resultName), text)
	}
	if err != nil {
		_ = os.RemoveAll(f.in(npy.Folder))
		return err
	}
	if complete, reason := r.State(); !complete {
		return f.mark(reason)
	}
	// The result must be flushed to disk before the mark disappears.
	if err := os.Remove(f.in(markName)); err != nil {
		return err
	}
	return draft.SyncFolder(f.path)
}

// writeSamples creates the folder of columns in one step, so that no reader sees it incomplete.
func (f *Folder) writeSamples(columns []npy.Column) (files []npy.File, err error) {
	making := f.in("." + npy.Folder + "." + rand.Text()[:8] + ".tmp")
	if err := os.Mkdir(making, 0o777); err != nil { // #nosec G301 -- the user's umask
		return nil, err
	}
	defer func() {
		if err != nil { // removing the columns makes room for the reason on a full disk
			_ = os.RemoveAll(making)
		}
	}()
	for _, c := range columns {
		file, err := c.Save(making, f.Moved)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		files = append(files, file)
	}
	if err := draft.SyncFolder(making); err != nil {
		return nil, err
	}
	return files, os.Rename(making, f.in(npy.Folder))
}

// Fail writes into the mark why there is no result.
func (f *Folder) Fail(reason string) error {
	if err := f.mark(reason); err != nil {
		return fmt.Errorf("the reason cannot be written to %s: %w", quote.Word(f.path), err)
	}
	return nil
}

func (f *Folder) mark(reason string) error {
	text := []byte(oneLine(reason) + "\n")
	if err := draft.Write(f.in(markName), text); err != nil { // a full disk still has the space of the old mark
		return f.overwriteMark(text)
	}
	return nil
}

func (f *Folder) overwriteMark(text []byte) error {
	mark, err := os.OpenFile(f.in(markName), os.O_WRONLY, 0) // #nosec G304 -- the user's folder
	if err != nil {
		return err
	}
	if _, err = mark.Write(text); err == nil {
		err = mark.Truncate(int64(len(text)))
	}
	if err == nil {
		err = mark.Sync()
	}
	if cerr := mark.Close(); err == nil {
		err = cerr
	}
	return err
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
