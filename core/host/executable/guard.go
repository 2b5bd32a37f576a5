package executable

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/psbench/psbench/internal/quote"
)

// Guard returns an error if a user other than this one and root could change a file. Another user could write the file,
// or replace it through a writable folder above it. The path must be absolute and without symbolic links. For a Python
// module, Guard also checks the compiled file.
func Guard(path string) error {
	if err := guardCompiled(path); err != nil {
		return err
	}
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
		return fmt.Errorf("%s %s belongs to user %d, who can change it: it must belong to you or root",
			what, quote.Word(path), owner)
	}
	writable, listed, err := byOthers(path, info.Mode(), int(stat.Gid))
	if err != nil {
		return err
	}
	if writable {
		why := fmt.Sprintf("its mode is %s", info.Mode())
		if listed {
			why += ", with an access control list (getfacl shows it)"
		}
		return fmt.Errorf("%s %s can be written by others, %s: chmod go-w %s", what, quote.Word(path), why,
			quote.Shell(path))
	}
	return nil
}

// byOthers reports whether other users may write to a path, and whether an access control list allows this. A folder
// with the sticky bit, such as /tmp, protects the user's own files.
func byOthers(path string, mode fs.FileMode, group int) (writable, listed bool, err error) {
	if mode.IsDir() && mode&fs.ModeSticky != 0 {
		return false, false, nil
	}
	raw, err := accessList(path)
	if err != nil {
		return false, false, fmt.Errorf("the access control list of %s cannot be read: %w", quote.Word(path), err)
	}
	if raw != nil {
		writable, err = listWritable(raw, group)
		return writable, true, err
	}
	open := mode.Perm() & 0o022
	return open&0o002 != 0 || open != 0 && !isAlone(group), false, nil
}
