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

// folder is a run's folder of sockets. Its process holds a lock on a file in it for as long as it lives, so other
// processes can tell a folder in use from an abandoned one, whatever their ages.
type folder struct {
	path string
	lock *os.File
}

// Scratch makes a folder for temporary files of this process; remove removes it. If this process is killed, the
// next psbench on the host removes it.
func Scratch() (path string, remove func() error, err error) {
	f, err := makeFolder(base())
	if err != nil {
		return "", nil, err
	}
	return f.path, f.remove, nil
}

// lockName is the name of the locked file in a folder.
const lockName = "lock"

// folderName is the form of a folder's name; no other folder is ever removed.
var folderName = regexp.MustCompile(`^psbench-[A-Z2-7]{12}$`)

// longestBase keeps the paths of sockets below the kernel's limit of 108 bytes.
const longestBase = 40

// base returns where folders are made. A plugin prints its socket's path in a line of fields separated by bars, so
// the path must not contain a bar.
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

// own locks a new folder. Before that, another process may take the folder for an abandoned one and remove it; own
// then returns false.
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

// remove removes the folder and releases its lock. It removes the lock's file last, so that the next run recognises
// the folder if this process is killed in between, as Slurm kills all processes of a task at once.
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

// tryLock locks a file unless another process holds its lock.
func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) // #nosec G115 -- a descriptor
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// clearDead ends and removes the remains of runs whose supervisor and core were killed together.
func clearDead(parent string) {
	entries, _ := os.ReadDir(parent) // an unreadable folder has none of psbench's
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
		_ = os.Remove(path) // its maker died before it made the lock; Remove spares a folder with files
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
