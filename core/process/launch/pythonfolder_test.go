package launch

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/psbench/psbench/python"
)

var pythonFiles = fstest.MapFS{
	"psbench/__init__.py":      {Data: []byte("a = 1\n")},
	"psbench/deep/__init__.py": {Data: []byte("b = 1\n")},
}

// The binary carries all files of the package's source folder, except tests.
func TestAllOfThePackageIsCarried(t *testing.T) {
	source := os.DirFS("../../../python")
	count := 0
	err := fs.WalkDir(source, "psbench", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == compiled:
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		count++
		if _, err := fs.Stat(python.Files, path); err != nil {
			t.Errorf("%v: python/embed.go leaves it out", err)
		}
		return nil
	})
	if err != nil || count == 0 {
		t.Fatalf("%d files, %v", count, err)
	}
}

// If many processes write the package into a cache at once, each of them finds all files. What Python compiles there
// does no harm.
func TestManyCachePythonAtOnce(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "not", "there")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			folder, err := cachedPython(cache, pythonFiles)
			if err != nil {
				t.Error(err)
				return
			}
			if err := os.WriteFile(filepath.Join(folder, "psbench", compiled, "x.pyc"), nil, 0o600); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	left, err := os.ReadDir(cache)
	if err != nil || len(left) != 1 || !strings.HasPrefix(left[0].Name(), "python-") {
		t.Errorf("there are %v (%v)", left, err)
	}
}

// psbench does not use a folder whose files differ from the package or that other users could change.
func TestPythonFolderThatIsNotUsed(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, folder string) error
		want  string
	}{
		"changed": {func(_ *testing.T, folder string) error {
			return os.WriteFile(filepath.Join(folder, "psbench/__init__.py"), []byte("a = 2\n"), 0o600)
		}, "psbench/__init__.py differs: remove that folder"},
		"gone": {func(_ *testing.T, folder string) error {
			return os.Remove(filepath.Join(folder, "psbench/deep/__init__.py"))
		}, "psbench/deep/__init__.py differs: remove that folder"},
		"more": {func(_ *testing.T, folder string) error {
			return os.WriteFile(filepath.Join(folder, "numpy.py"), nil, 0o600)
		}, "numpy.py differs: remove that folder"},
		"link": {func(t *testing.T, folder string) error {
			path := filepath.Join(folder, "psbench/__init__.py")
			other := filepath.Join(t.TempDir(), "same.py")
			if err := os.Rename(path, other); err != nil {
				return err
			}
			return os.Symlink(other, path)
		}, "psbench/__init__.py differs: remove that folder"},
		"writable file": {func(_ *testing.T, folder string) error {
			return os.Chmod(filepath.Join(folder, "psbench/__init__.py"), 0o606) // #nosec G302 -- for that
		}, "__init__.py can be written by others"},
		"writable compiled": {func(_ *testing.T, folder string) error {
			return os.Chmod(filepath.Join(folder, "psbench", compiled), 0o707) // #nosec G302 -- for that
		}, "__pycache__ can be written by others"},
		"a file": {func(_ *testing.T, folder string) error {
			if err := os.RemoveAll(folder); err != nil {
				return err
			}
			return os.WriteFile(folder, nil, 0o600)
		}, " differs: remove that folder"},
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			folder, err := cachedPython(cache, pythonFiles)
			if err == nil {
				_, err = cachedPython(cache, pythonFiles)
			}
			if err == nil {
				err = c.spoil(t, folder)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := cachedPython(cache, pythonFiles); err == nil ||
				!strings.HasSuffix(err.Error(), c.want) && !strings.Contains(err.Error(), c.want+",") {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// A package with other contents gets another folder.
func TestContentsNameThePythonFolder(t *testing.T) {
	names := map[string]bool{}
	for _, f := range []fstest.MapFS{pythonFiles, {"psbench/__init__.py": {}},
		{"psbench/__init__": {Data: []byte("py")}}, {}} {
		name, err := pythonName(f)
		if err != nil || names[name] {
			t.Errorf("%s again, %v", name, err)
		}
		names[name] = true
	}
}
