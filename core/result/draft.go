package result

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/quote"
)

// draft is a file that has yet to get its path.
type draft struct {
	file *os.File
	path string // that it is to have
	name string // that it has meanwhile, if any
}

// newDraft makes a file in the folder of path. It has no name, so that nothing of it stays
// if psbench is killed, except where the file system has no such files.
func newDraft(path string) (*draft, error) {
	dir, d := filepath.Dir(path), &draft{path: path}
	var err error
	if d.file, err = os.OpenFile(dir, os.O_WRONLY|unix.O_TMPFILE, 0o666); err != nil { // #nosec G302 G304 -- the user's folder, mode and umask
		d.name = d.besides()
		d.file, err = os.OpenFile(d.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // #nosec G302 G304 -- likewise
	}
	if err != nil {
		return nil, fmt.Errorf("no file can be made in directory %s: %w", quote.Word(dir), cause(err))
	}
	return d, nil
}

// besides is a new name beside the path.
func (d *draft) besides() string {
	return filepath.Join(filepath.Dir(d.path), "."+filepath.Base(d.path)+"."+rand.Text()[:8]+".tmp")
}

// publish gives the draft its path. A link replaces nothing, but a rename does: so where
// there is a file already, the draft has a name beside it for the time of two system calls.
func (d *draft) publish() error {
	if d.name == "" {
		err := d.link(d.path)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		name := d.besides()
		if err := d.link(name); err != nil {
			return err
		}
		d.name = name
	}
	if err := os.Rename(d.name, d.path); err != nil {
		return cause(err)
	}
	d.name = ""
	return nil
}

func (d *draft) link(name string) error {
	self := fmt.Sprintf("/proc/self/fd/%d", d.file.Fd())
	return unix.Linkat(unix.AT_FDCWD, self, unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
}

// discard closes the file, and removes the name that is not its path.
func (d *draft) discard() {
	_ = d.file.Close()
	if d.name != "" {
		_ = os.Remove(d.name)
	}
}
