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

// folder is a run's socket folder. A lock on a file in it is held for as long as
// the process that made it lives, so that others can tell a folder that is in use
// from one that was left behind, whatever their ages.
type folder struct {
	path string
	lock *os.File
}

// Scratch makes a folder of this process's own for files that are not to stay, which remove removes. If this
// process is killed, the next psbench of the host does.
func Scratch() (path string, remove func() error, err error) {
	f, err := makeFolder(base())
	if err != nil {
		return "", nil, err
	}
	return f.path, f.remove, nil
}

// lockName is the file in a folder that is locked.
const lockName = "lock"

// folderName is the form of a folder's name; no other folder is ever removed.
var folderName = regexp.MustCompile(`^psbench-[A-Z2-7]{12}$`)

// longestBase keeps the paths of sockets below the 108 bytes that the kernel
// allows.
const longestBase = 40

// base is where folders are made. A plugin tells its socket's path in a line of fields
// between bars, so the path must not have any of these.
func base() string {
	dir := os.TempDir()
	if len(dir) > longestBase ||
		strings.ContainsFunc(dir, func(r rune) bool { return r == '|' || !unicode.IsPrint(r) }) {
		return "/tmp"
	}
	return dir
}

// makeFolder makes an empty folder that is locked.
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

// own takes the lock of a new folder. Until then another process may take the
// folder for one that was left behind and remove it, which own tells.
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

// remove removes the folder and gives its lock back. The file of the lock goes last: by that the next run knows
// a folder whose remover was killed, as Slurm kills all of a task at once.
func (f *folder) remove() error {
	entries, err := os.ReadDir(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // others have removed it
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

// clearDead ends and removes what is left of runs whose supervisor was killed
// together with their core.
func clearDead(parent string) {
	entries, _ := os.ReadDir(parent) // a folder that cannot be read has none of ours
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
		_ = os.Remove(path) // its maker died before it made the lock; only an empty folder goes
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
