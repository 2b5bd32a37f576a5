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

// pythonVariable names the folders that Python searches before its own.
const pythonVariable = "PYTHONPATH"

// pythonPath returns the variable with which a plugin in Python finds this program's package psbench, before the
// folders of the user's own variable. The package is in the user's cache. It is in the run's folder if the cache
// cannot hold it, or holds a version that cannot be trusted.
func (l *Launcher) pythonPath() (string, error) {
	l.python.Do(func() {
		if l.pythonFolder, l.pythonError = PythonFolder(); l.pythonError != nil {
			l.pythonFolder, l.pythonError = pythonIn(l.directory)
		}
	})
	if l.pythonError != nil {
		return "", fmt.Errorf("the Python package psbench has no place: %w", l.pythonError)
	}
	path := l.pythonFolder
	if own := os.Getenv(pythonVariable); own != "" {
		path += string(filepath.ListSeparator) + own
	}
	return pythonVariable + "=" + path, nil
}

// isPythonPath reports whether a variable, with its value, is PYTHONPATH. If there were two, Python would use the
// first.
func isPythonPath(variable string) bool { return strings.HasPrefix(variable, pythonVariable+"=") }

// compiled is the folder in which Python keeps the compiled sources beside it.
const compiled = "__pycache__"

// PythonFolder returns the folder of the user's cache with the Python package; it writes the package if it is
// missing. An existing folder is used only if it has exactly the package and what Python compiled from it, and only
// the user and root can change it.
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

// pythonIn returns a folder below dir with the Python package, for one run.
func pythonIn(dir string) (string, error) {
	folder := filepath.Join(dir, "python")
	return folder, writePython(folder, python.Files)
}

// cachedPython is PythonFolder for files below a cache folder. It writes to a temporary folder first, so others
// find everything or nothing. Of two concurrent writers, the second finds the first one's folder.
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
		defer func() { _ = os.RemoveAll(beside) }() // already gone after success
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

// pythonName derives a folder's name from the paths and contents of its files.
func pythonName(files fs.FS) (string, error) {
	hash := sha256.New()
	err := eachFile(files, func(path string, text []byte) error {
		_, err := fmt.Fprintf(hash, "%s %d\n%s", path, len(text), text)
		return err
	})
	return fmt.Sprintf("python-%x", hash.Sum(nil)[:8]), err
}

// eachFile visits files in the order of their paths.
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

// writePython writes files into a folder, independent of the umask, with subfolders for what Python compiles.
func writePython(folder string, files fs.FS) error {
	return eachFile(files, func(path string, text []byte) error {
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Join(filepath.Dir(path), compiled), 0o700); err != nil {
			return err
		}
		return os.WriteFile(path, text, 0o600)
	})
}

// checkPython returns an error if a folder, a resolved path, must not be used: it lacks files, has others, or other
// users could change it.
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
	return fmt.Errorf("%s is not what this psbench put there, %s differs: remove that folder",
		quote.Word(folder), quote.Word(path))
}
