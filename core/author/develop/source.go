package develop

import (
	"errors"
	"fmt"
	"go/build"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/psbench/psbench/core/host/executable"
)

// source is what the files of a source are known by.
type source map[string]stamp

type stamp struct {
	modifiedNS, size int64
}

func (s source) equal(other source) bool { return maps.Equal(s, other) }

// add takes in a regular file; what goes while it is looked at is not there.
func (s source) add(path string) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		s[path] = stamp{info.ModTime().UnixNano(), info.Size()}
	}
}

// extensions are those of files that go build reads, as go/build has them, and of those that say
// which modules it takes.
var extensions = []string{
	".go", ".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".hpp", ".hxx", ".f", ".F", ".for", ".f90",
	".s", ".S", ".sx", ".swig", ".swigcxx", ".syso", ".mod", ".sum", ".work",
}

// watch looks at a source again and again.
type watch struct {
	// program is the name of what is built there, which is no source even where it is embedded, or the script.
	program  string
	code     source              // the Go files of the last look
	embedded map[string][]string // the patterns of files that they embed, by folder
}

// read looks at the files of a folder that make its program: no tests, nothing hidden but what is
// embedded, and nothing that a run may write.
func (w *watch) read(dir string) (source, error) {
	s, code := source{}, source{}
	root, err := filepath.EvalSymlinks(dir)
	if err == nil {
		err = walk(root, func(name string) bool { return hidden(name) || name == "testdata" }, func(path string) {
			if w.reads(filepath.Base(path)) {
				s.add(path)
			}
		})
	}
	if err == nil && len(s) == 0 {
		err = errors.New("no file that go build reads")
		if IsScript(w.program) {
			err = errors.New("no file of Python")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("folder %s has no source of a plugin: %w", dir, err)
	}
	if IsScript(w.program) {
		return s, nil
	}
	for path, stamp := range s {
		if filepath.Ext(path) == ".go" {
			code[path] = stamp
		}
	}
	if !w.code.equal(code) { // to read the files at each look would disturb what is measured
		w.code, w.embedded = code, embeds(code)
	}
	for folder, patterns := range w.embedded {
		for _, pattern := range patterns {
			s.embed(folder, pattern)
		}
	}
	delete(s, filepath.Join(root, w.program))
	return s, nil
}

// reads says whether a file of that name makes the program: what go build reads, or what a script may
// import, without tests.
func (w *watch) reads(name string) bool {
	if IsScript(w.program) {
		return IsScript(name) && !strings.HasPrefix(name, "test_") && !strings.HasSuffix(name, "_test.py")
	}
	return slices.Contains(extensions, filepath.Ext(name)) && !strings.HasSuffix(name, "_test.go")
}

// walk visits the files below a path, or the file that is there, without those whose names, or
// those of folders above them, are left out.
func walk(root string, out func(name string) bool, visit func(path string)) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return err
		case err != nil:
			return nil
		case path != root && out(entry.Name()):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case !entry.IsDir():
			visit(path)
		}
		return nil
	})
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }

// embeds are the patterns of the comments //go:embed, by folder, whatever a file is built for.
// What is wrong in a file go build says.
func embeds(code source) map[string][]string {
	all := build.Default
	all.UseAllFiles, all.CgoEnabled = true, true
	all.OpenFile = func(path string) (io.ReadCloser, error) { return executable.Open(path) }
	found := map[string][]string{}
	for path := range code {
		folder := filepath.Dir(path)
		if _, known := found[folder]; known {
			continue
		}
		found[folder] = nil
		if p, _ := all.ImportDir(folder, 0); p != nil {
			found[folder] = p.EmbedPatterns
		}
	}
	return found
}

// embed takes in the files that a pattern names in a folder: of a folder that matches all below it,
// but hidden ones only with the prefix all: of the pattern. (Those of a name that begins with _,
// which Go leaves out as well, do no harm.)
func (s source) embed(folder, pattern string) {
	pattern, everything := strings.CutPrefix(pattern, "all:")
	matches, _ := fs.Glob(os.DirFS(folder), pattern)
	for _, match := range matches {
		_ = walk(filepath.Join(folder, match), func(name string) bool { return hidden(name) && !everything }, s.add)
	}
}
