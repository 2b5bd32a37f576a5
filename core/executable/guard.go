package executable

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/psbench/psbench/internal/quote"
)

// Guard reports that somebody else than the user and root could change what is at a path: by
// writing the file, or by putting another one in its place, for which a folder above it is
// enough. Path is absolute and without symbolic links.
func Guard(path string) error {
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return err
		}
		if err := guard(at, info); err != nil {
			return err
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

func guard(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	what := "file"
	if info.IsDir() {
		what = "folder"
	}
	if owner := int(stat.Uid); owner != 0 && owner != os.Getuid() {
		return fmt.Errorf("%s %s belongs to the user with number %d, who can change it: it must be yours or root's", what, quote.Word(path), owner)
	}
	if open := writers(info.Mode(), int(stat.Gid)); open != 0 {
		return fmt.Errorf("%s %s can be written by others, its mode is %s: chmod go-w %s", what, quote.Word(path), info.Mode(), quote.Word(path))
	}
	return nil
}

// writers are the permissions by which others may write. In a folder such as /tmp, whose bit
// says that only owners may rename, what is the user's stays. A group with the user's own
// number is the user's alone, as distributions have it whose umask lets the group write.
func writers(mode fs.FileMode, group int) fs.FileMode {
	if mode.IsDir() && mode&fs.ModeSticky != 0 {
		return 0
	}
	open := mode.Perm() & 0o022
	if group == os.Getgid() && group == os.Getuid() {
		open &^= 0o020
	}
	return open
}
