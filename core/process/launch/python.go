package launch

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/internal/quote"
	"github.com/psbench/psbench/python"
)

// pythonVariable is the variable with the folders that Python searches before its own.
const pythonVariable = "PYTHONPATH"

// pythonPath returns PYTHONPATH with the folder of this psbench's Python package before the user's own folders. The
// package is usually in the user's cache. If the cache cannot hold the package, or holds one that cannot be trusted,
// the package is in the run's folder.
func (l *Launcher) pythonPath() (string, error) {
	l.python.Do(func() {
		if l.pythonFolder, l.pythonError = PythonFolder(); l.pythonError != nil {
			l.pythonFolder, l.pythonError = pythonIn(l.directory)
		}
	})
	if l.pythonError != nil {
		return "", fmt.Errorf("cannot find a folder for the Python package psbench: %w", l.pythonError)
	}
	path := l.pythonFolder
	if own := os.Getenv(pythonVariable); own != "" {
		path += string(filepath.ListSeparator) + own
	}
	return pythonVariable + "=" + path, nil
}

// isPythonPath reports whether an entry NAME=VALUE of an environment sets PYTHONPATH. If an environment had two such
// entries, Python would use the first.
func isPythonPath(variable string) bool { return strings.HasPrefix(variable, pythonVariable+"=") }

// compiled is the name of the folder in which Python keeps compiled sources.
const compiled = "__pycache__"

// PythonFolder returns the folder in the user's cache with the Python package. PythonFolder writes the package if the
// folder is missing. PythonFolder returns an error for an existing folder if files are missing or unexpected. Files
// that Python compiled are expected. PythonFolder also returns an error if users other than this one and root can
// change the folder.
func PythonFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(cache) {
		return "", fmt.Errorf("the folder for caches, %s, is no absolute path", quote.Word(cache))
	}
	return cachedPython(filepath.Join(cache, "psbench"), python.Files)
}

// pythonIn writes the Python package into a folder below dir, for one run.
func pythonIn(dir string) (string, error) {
	folder := filepath.Join(dir, "python")
	return folder, writePython(folder, python.Files)
}

// cachedPython does the work of PythonFolder for any files and cache folder. cachedPython writes to a temporary folder
// and renames it, so that other processes find either all files or none. If two processes write at once, the second
// uses the folder of the first.
func cachedPython(cache string, files fs.FS) (string, error) {
	name, err := pythonName(files)
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
		defer func() { _ = os.RemoveAll(beside) }() // does nothing after the rename
		if err := writePython(beside, files); err != nil {
			return "", err
		}
		if err := os.Rename(beside, folder); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	if folder, err = executable.Resolve(folder); err != nil {
		return "", err
	}
	return folder, checkPython(folder, files)
}

// pythonName returns a folder name that depends on the paths and contents of the files.
func pythonName(files fs.FS) (string, error) {
	hash := sha256.New()
	err := eachFile(files, func(path string, text []byte) error {
		_, err := fmt.Fprintf(hash, "%s %d\n%s", path, len(text), text)
		return err
	})
	return fmt.Sprintf("python-%x", hash.Sum(nil)[:8]), err
}

// eachFile visits all files in the order of their paths.
func eachFile(files fs.FS, visit func(path string, text []byte) error) error {
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

// writePython writes files into a folder, with modes that do not depend on the umask. writePython also makes the
// subfolders in which Python keeps compiled sources.
func writePython(folder string, files fs.FS) error {
	return eachFile(files, func(path string, text []byte) error {
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Join(filepath.Dir(path), compiled), 0o700); err != nil {
			return err
		}
		return os.WriteFile(path, text, 0o600)
	})
}

// checkPython returns an error if the folder must not be used: files are missing or unexpected, or other users could
// change the folder. The path must be resolved.
func checkPython(folder string, files fs.FS) error {
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
				return pythonDiffers(folder, inside)
			}
		}
		return executable.Guard(path)
	})
	if err != nil {
		return err
	}
	return eachFile(files, func(path string, want []byte) error {
		text, err := os.ReadFile(filepath.Join(folder, path)) // #nosec G304 -- guarded above
		if err != nil || !bytes.Equal(text, want) {
			return pythonDiffers(folder, path)
		}
		return nil
	})
}

func pythonDiffers(folder, path string) error {
	return fmt.Errorf("%s is not as this psbench wrote it, %s differs: remove that folder",
		quote.Word(folder), quote.Word(path))
}
