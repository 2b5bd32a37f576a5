// Package pythonpath puts the Python package that psbench carries where plugins find it: into a
// folder of the user's cache that is named by the hash of its contents, or one that goes with a run.
package pythonpath

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/python"
)

// compiled is where Python keeps what it made of the sources beside it.
const compiled = "__pycache__"

// Cached is the folder of the user's cache in which Python finds the package, which is written
// where it is not there. One that is there is used only if it holds the package and nothing else
// but what Python compiled of it, and if nobody but the user and root could change that.
func Cached() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(cache) {
		return "", fmt.Errorf("the folder for caches, %s, is no absolute path", quote.Word(cache))
	}
	return in(filepath.Join(cache, "psbench"), python.Files)
}

// In is a folder of a run's own in which Python finds the package.
func In(dir string) (string, error) {
	folder := filepath.Join(dir, "python")
	return folder, write(folder, python.Files)
}

// in is Cached of files, below a folder of psbench's own. Who writes does so beside, so that others
// find all of it or nothing; of two at once the second finds the first one's.
func in(cache string, files fs.FS) (string, error) {
	name, err := nameOf(files)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, name)
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(cache, 0o700); err != nil {
			return "", err
		}
		beside, err := os.MkdirTemp(cache, ".python-*")
		if err != nil {
			return "", err
		}
		defer func() { _ = os.RemoveAll(beside) }() // which is not there any more if all went well
		if err := write(beside, files); err != nil {
			return "", err
		}
		if err := os.Rename(beside, folder); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	if folder, err = executable.Resolve(folder); err != nil {
		return "", err
	}
	return folder, check(folder, files)
}

// nameOf is the name of a folder of files: paths and contents make it.
func nameOf(files fs.FS) (string, error) {
	hash := sha256.New()
	err := each(files, func(path string, text []byte) error {
		_, err := fmt.Fprintf(hash, "%s %d\n%s", path, len(text), text)
		return err
	})
	return fmt.Sprintf("python-%x", hash.Sum(nil)[:8]), err
}

// each visits files in the order of their paths.
func each(files fs.FS, visit func(path string, text []byte) error) error {
	return fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		return visit(path, text)
	})
}

// write writes files into a folder, whatever the umask is, with places for what Python compiles.
func write(folder string, files fs.FS) error {
	return each(files, func(path string, text []byte) error {
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Join(filepath.Dir(path), compiled), 0o700); err != nil {
			return err
		}
		return os.WriteFile(path, text, 0o600)
	})
}

// check says why a folder, a resolved path, must not be used: that it does not hold files, or something
// else, or that others could change it.
func check(folder string, files fs.FS) error {
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if !entry.IsDir() && filepath.Base(filepath.Dir(path)) != compiled {
			if _, err := fs.Stat(files, inside); err != nil || !entry.Type().IsRegular() {
				return differs(folder, inside)
			}
		}
		return executable.Guard(path)
	})
	if err != nil {
		return err
	}
	return each(files, func(path string, want []byte) error {
		if text, err := os.ReadFile(filepath.Join(folder, path)); err != nil || !bytes.Equal(text, want) { // #nosec G304 -- guarded above
			return differs(folder, path)
		}
		return nil
	})
}

func differs(folder, path string) error {
	return fmt.Errorf("%s is not what this psbench put there, %s differs: remove that folder", quote.Word(folder), quote.Word(path))
}
