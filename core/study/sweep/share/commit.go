package share

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// commit is the content of a file that decides which result of a run counts.
type commit struct {
	// Folder is where the result lies until it is moved, relative to the sweep folder.
	Folder string `json:"folder"`
}

// Commit publishes the complete result of a run from this worker's folder. If another worker was first, the result
// stays in place and first is false. Commit calls aside to make room if the target holds a failed run. A link decides
// which worker is first; the folder is moved afterwards. If this worker is killed in between, the next worker moves the
// folder.
func (w *Worker) Commit(run string, aside func() error) (first bool, err error) {
	ours, err := filepath.Rel(w.dir, w.Folder(run))
	if err != nil {
		return false, err
	}
	for n := 1; ; n++ {
		path := w.commitOf(run, n)
		text, err := json.Marshal(commit{ours})
		if err != nil {
			return false, err
		}
		made, err := draft.WriteNew(path, append(text, '\n'))
		if err != nil {
			return false, fmt.Errorf("the result of %s cannot be committed: %w", quote.Word(run), draft.Cause(err))
		}
		if made {
			if n == 1 { // with n > 1 the target may be a result that appears late
				if err := aside(); err != nil {
					return false, err
				}
			}
			return w.move(ours, run)
		}
		there, err := w.settled(path, run)
		if err != nil || there {
			return false, err
		}
	}
}

// Adopt completes the commit of a worker that was killed before it moved the result to its place. It reports whether
// there is a committed result.
func (w *Worker) Adopt(run string) (bool, error) {
	for n := 1; ; n++ {
		path := w.commitOf(run, n)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if there, err := w.settled(path, run); there || err != nil {
			return there, err
		}
	}
}

// commitOf returns the path of the n-th commit file of a run. A run has several commit files if results were removed.
func (w *Worker) commitOf(run string, n int) string {
	return filepath.Join(w.dir, commitsName,
		fmt.Sprintf("%s.%d", strings.ReplaceAll(strings.TrimPrefix(run, "runs/"), "/", "."), n))
}

// settled moves the result that a commit names to its place, unless it is already there. It returns false if the result
// is in neither place. The result was then removed, and another one may be committed.
func (w *Worker) settled(path, run string) (bool, error) {
	text, err := readLate(path, w.options.Expiry)
	var c commit
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err == nil && (!filepath.IsLocal(c.Folder) || !strings.HasPrefix(c.Folder, workName+"/")) {
		err = fmt.Errorf("its folder is %s", quote.String(c.Folder))
	}
	if err != nil {
		return false, fmt.Errorf("the commit %s cannot be read: %w", quote.Word(path), draft.Cause(err))
	}
	if _, err := os.Stat(filepath.Join(w.dir, run)); err == nil {
		return true, nil
	}
	return w.move(c.Folder, run)
}

// move renames a folder to a run folder; both paths are relative to the sweep folder. It does nothing if the target
// exists or if another worker has already moved the folder.
func (w *Worker) move(from, to string) (moved bool, err error) {
	source, target := filepath.Join(w.dir, from), filepath.Join(w.dir, to)
	if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil { // #nosec G301 -- as the user's umask has it
		return false, fmt.Errorf("no run folder can be made at %s: %w", quote.Word(target), draft.Cause(err))
	}
	err = os.Rename(source, target)
	switch {
	case err == nil:
		return true, errors.Join(draft.SyncFolder(filepath.Dir(target)), draft.SyncFolder(filepath.Dir(source)))
	case errors.Is(err, fs.ErrExist), errors.Is(err, unix.ENOTEMPTY), errors.Is(err, fs.ErrNotExist):
		return false, nil
	}
	return false, fmt.Errorf("the run folder %s cannot be moved to %s: %w", quote.Word(source), quote.Word(target),
		draft.Cause(err))
}

// Show moves the folder of a failed run to its place in the sweep. It does nothing if that place is taken.
func (w *Worker) Show(run string) error {
	ours, err := filepath.Rel(w.dir, w.Folder(run))
	if err == nil {
		_, err = w.move(ours, run)
	}
	return err
}
