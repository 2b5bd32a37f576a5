package conduct

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/draft"
	"github.com/psbench/psbench/internal/quote"
)

// makeRoom creates dir, the folder of a cell's runs, and checks that it can create run folders there. If the check
// fails, the sweep ends and no run counts as failed.
func makeRoom(dir string) error {
	_, err := os.Stat(dir) // SWEEP/runs/ID
	if errors.Is(err, os.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o777); err == nil { // #nosec G301 -- as the user's umask has it
			err = errors.Join(draft.SyncFolder(filepath.Dir(dir)), draft.SyncFolder(filepath.Dir(filepath.Dir(dir))))
		}
	}
	if err == nil {
		err = unix.Access(dir, unix.W_OK|unix.X_OK)
	}
	if err != nil {
		return fmt.Errorf("no run folder can be made in %s: %w", quote.Word(dir), draft.Cause(err))
	}
	return nil
}

// moveAside makes room for a new attempt of a run. It renames the files of an earlier attempt from path to
// path.failed-N.
func moveAside(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for n := 1; ; n++ {
		aside := fmt.Sprintf("%s.failed-%d", path, n)
		err := unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, aside, unix.RENAME_NOREPLACE)
		if errors.Is(err, unix.EEXIST) {
			continue
		}
		if err == nil {
			err = draft.SyncFolder(filepath.Dir(path))
		}
		if err != nil {
			return fmt.Errorf("the run folder %s cannot be moved to %s: %w", quote.Word(path),
				quote.Word(filepath.Base(aside)), draft.Cause(err))
		}
		return nil
	}
}
