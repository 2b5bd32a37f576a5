package launch

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/core/process/launch/limit"
)

// folder is a run's folder of sockets. The process that made the folder locks a file in it until the process ends.
// Other processes can therefore distinguish a folder in use from an abandoned one.
type folder struct {
	path string
	lock *os.File
}

// Scratch makes a folder for temporary files of this process. The caller calls remove when done. If this process is
// killed before it calls remove, the next psbench on the host removes the folder.
func Scratch() (path string, remove func() error, err error) {
	f, err := makeFolder(base())
	if err != nil {
		return "", nil, err
	}
	return f.path, f.remove, nil
}

// lockName is the name of the file in a folder that is locked.
const lockName = "lock"

// folderName matches the names of these folders. psbench never removes a folder with another name.
var folderName = regexp.MustCompile(`^psbench-[A-Z2-7]{12}$`)

// longestBase is the maximum length of a parent folder's path. longestBase keeps the paths of sockets below the
// kernel's limit of 108 bytes.
const longestBase = 40

// base returns the parent of all folders. The parent's path must not contain a vertical bar, because a plugin's
// handshake separates fields, including the socket's path, by vertical bars.
func base() string {
	dir := os.TempDir()
	if len(dir) > longestBase ||
		strings.ContainsFunc(dir, func(r rune) bool { return r == '|' || !unicode.IsPrint(r) }) {
		return "/tmp"
	}
	return dir
}

// makeFolder makes an empty, locked folder.
func makeFolder(parent string) (*folder, error) {
	for {
		f := &folder{path: filepath.Join(parent, "psbench-"+rand.Text()[:12])}
		if err := os.Mkdir(f.path, 0o700); err != nil {
			return nil, fmt.Errorf("the folder for sockets cannot be made: %w", err)
		}
		ours, err := f.own()
		if err != nil {
			return nil, fmt.Errorf("the folder for sockets cannot be locked: %w", errors.Join(err, f.remove()))
		}
		if ours {
			return f, nil
		}
	}
}

// own locks a new folder. Until the folder is locked, another process may take it for abandoned and remove it. If
// another process removes the folder, own returns false.
func (f *folder) own() (bool, error) {
	name := filepath.Join(f.path, lockName)
	lock, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) // #nosec G304 -- in a folder of our own
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	f.lock = lock
	free, err := tryLock(lock)
	if err != nil {
		return false, err
	}
	mine, err := lock.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Stat(name)
	if free && err == nil && os.SameFile(mine, there) {
		return true, nil
	}
	return false, lock.Close()
}

// remove removes the folder and releases its lock. remove removes the lock file last. If this process is killed while
// it removes the folder, the next run still recognises the folder as abandoned. Slurm, for example, kills all processes
// of a task at once.
func (f *folder) remove() error {
	entries, err := os.ReadDir(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // another process has removed it
	}
	for _, e := range entries {
		if e.Name() != lockName {
			err = errors.Join(err, os.RemoveAll(filepath.Join(f.path, e.Name())))
		}
	}
	if err == nil {
		err = os.RemoveAll(f.path)
	}
	if f.lock != nil {
		_ = f.lock.Close()
	}
	return err
}

// tryLock locks a file. tryLock returns false if another process holds the lock.
func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) // #nosec G115 -- a descriptor
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// clearDead cleans up after runs whose core and supervisor were killed together: it kills their processes and removes
// their folders.
func clearDead(parent string) {
	entries, _ := os.ReadDir(parent) // an unreadable parent contains no folder of psbench
	for _, e := range entries {
		if folderName.MatchString(e.Name()) {
			clearIfDead(filepath.Join(parent, e.Name()))
		}
	}
}

func clearIfDead(path string) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != fs.ModeDir|0o700 {
		return
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Geteuid() {
		return
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|unix.O_NOFOLLOW, 0) // #nosec G304 -- in a folder of our own
	if errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(path) // the process died before it made the lock file; Remove keeps a folder that has files
	}
	if err != nil {
		return
	}
	f := &folder{path: path, lock: lock}
	if free, err := tryLock(lock); !free || err != nil {
		_ = lock.Close()
		return
	}
	killHolders(path)
	clearGroups(path)
	_ = f.remove()
}

// clearGroups removes the cgroups of a run whose supervisor is dead.
func clearGroups(folder string) {
	for _, g := range limit.GroupsOf(filepath.Base(folder)) {
		g.Remove()
	}
}
