// Package draft writes files atomically: a file appears complete or not at all.
package draft

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/quote"
)

// Draft is a file that does not have its final path yet.
type Draft struct {
	File *os.File
	path string // final path
	name string // temporary name, if any
}

// New creates a file in the folder of path. The file has no name, so that it vanishes if psbench is killed. Some
// file systems do not support such files; there it has a temporary name.
func New(path string) (*Draft, error) {
	dir, d := filepath.Dir(path), &Draft{path: path}
	var err error
	if d.File, err = os.OpenFile(dir, os.O_WRONLY|unix.O_TMPFILE, 0o666); err != nil { // #nosec G302 G304 -- the user's folder, mode and umask
		d.name = d.besides()
		d.File, err = os.OpenFile(d.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // #nosec G302 G304 -- likewise
	}
	if err != nil {
		return nil, fmt.Errorf("no file can be made in directory %s: %w", quote.Word(dir), Cause(err))
	}
	return d, nil
}

// drafts matches the names that besides creates.
var drafts = regexp.MustCompile(`^\..+\.[A-Z2-7]{8}\.tmp$`)

// besides returns a new temporary name in the same folder as the path.
func (d *Draft) besides() string {
	return filepath.Join(filepath.Dir(d.path), "."+filepath.Base(d.path)+"."+rand.Text()[:8]+".tmp")
}

// Publish gives the draft its final path. A link cannot replace an existing file, but a rename can. So if the file
// exists, the draft has a temporary name in the same folder between two system calls.
func (d *Draft) Publish() error {
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
		return Cause(err)
	}
	d.name = ""
	return nil
}

func (d *Draft) link(name string) error {
	self := fmt.Sprintf("/proc/self/fd/%d", d.File.Fd())
	return unix.Linkat(unix.AT_FDCWD, self, unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
}

// Discard closes the file and removes its temporary name.
func (d *Draft) Discard() {
	_ = d.File.Close()
	if d.name != "" {
		_ = os.Remove(d.name)
	}
}

// Clear removes the drafts that killed processes have left in a folder. Drafts have names between the two system
// calls of Publish, and always if the file system needs them. No other process may be writing there.
func Clear(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Type().IsRegular() && drafts.MatchString(e.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return Cause(err)
}

// Write replaces the content of path with data. On failure, path keeps its old content. When Write returns, the
// file and its name are on disk. Write does not touch a file that already has this content.
func Write(path string, data []byte) error {
	if stands(path, data) {
		return SyncFolder(filepath.Dir(path))
	}
	return Stream(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

func stands(path string, data []byte) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() != int64(len(data)) {
		return false
	}
	is, err := os.ReadFile(path) // #nosec G304 -- the user's path
	return err == nil && bytes.Equal(is, data)
}

// Stream does the same as Write with the output of write.
func Stream(path string, write func(io.Writer) error) error {
	d, err := New(path)
	if err != nil {
		return err
	}
	defer d.Discard()
	if err := write(d.File); err != nil {
		return Cause(err)
	}
	// Without Sync, a full disk might cause an error only after the file has its name.
	if err := d.File.Sync(); err != nil {
		return Cause(err)
	}
	if err := d.Publish(); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// WriteNew writes data to path unless the path exists. WriteNew returns whether it wrote. If several processes, on
// any hosts, write to the same path, link(2) lets only one succeed.
func WriteNew(path string, data []byte) (made bool, err error) {
	d, err := New(path)
	if err != nil {
		return false, err
	}
	defer d.Discard()
	if _, err := d.File.Write(data); err != nil {
		return false, Cause(err)
	}
	if err := d.File.Sync(); err != nil {
		return false, Cause(err)
	}
	if err := d.publishNew(); errors.Is(err, fs.ErrExist) {
		return false, nil
	} else if err != nil {
		return false, Cause(err)
	}
	return true, SyncFolder(filepath.Dir(path))
}

// publishNew publishes the draft only if the path does not exist. If the first answer of a network file system is
// lost, the link is requested again and refused, although it exists. The file's number of names reveals this case.
func (d *Draft) publishNew() error {
	var err error
	if d.name == "" {
		err = d.link(d.path)
	} else {
		err = os.Link(d.name, d.path)
	}
	names := 1
	if d.name != "" {
		names = 2
	}
	var is unix.Stat_t
	if err != nil && unix.Fstat(int(d.File.Fd()), &is) == nil && int(is.Nlink) == names { // #nosec G115 -- a descriptor, and small
		return nil
	}
	return err
}

// SyncFolder writes the names in a folder to disk. SyncFolder ignores file systems that cannot do this for folders.
func SyncFolder(path string) error {
	d, err := os.Open(path) // #nosec G304 -- the user names the folder
	if err != nil {
		return Cause(err)
	}
	defer func() { _ = d.Close() }()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) {
		return Cause(err)
	}
	return nil
}

// Cause removes the operation and the temporary file's name from err, because they would not help the user.
func Cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}
