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

// source identifies the state of the source files by their sizes and modification times.
type source map[string]stamp

type stamp struct {
	modifiedNS, size int64
}

func (s source) equal(other source) bool { return maps.Equal(s, other) }

// add adds a regular file. If the file is deleted at the same time, add skips it.
func (s source) add(path string) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		s[path] = stamp{info.ModTime().UnixNano(), info.Size()}
	}
}

// extensions lists the extensions of files that go build reads, as in package go/build. extensions includes the files
// that select modules.
var extensions = []string{
	".go", ".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".hpp", ".hxx", ".f", ".F", ".for", ".f90",
	".s", ".S", ".sx", ".swig", ".swigcxx", ".syso", ".mod", ".sum", ".work",
}

// watch reads the same source repeatedly.
type watch struct {
	// program is the name of the built program, or of the script. The built program does not belong to the source, even
	// if the source embeds it.
	program  string
	code     source              // the Go files at the last read
	embedded map[string][]string // patterns of the files that they embed, by folder
}

// read reads the state of the files in a folder from which its program is built. read skips tests, hidden files that
// are not embedded, and files that a run may write.
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
		return nil, fmt.Errorf("folder %s has no plugin source: %w", dir, err)
	}
	if IsScript(w.program) {
		return s, nil
	}
	for path, stamp := range s {
		if filepath.Ext(path) == ".go" {
			code[path] = stamp
		}
	}
	if !w.code.equal(code) { // parsing the files at each read would disturb measurements
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

// reads reports whether a file with this name contributes to the program. A file contributes if go build reads it or,
// for a script, if the script may import it. Tests do not contribute.
func (w *watch) reads(name string) bool {
	if IsScript(w.program) {
		return IsScript(name) && !strings.HasPrefix(name, "test_") && !strings.HasSuffix(name, "_test.py")
	}
	return slices.Contains(extensions, filepath.Ext(name)) && !strings.HasSuffix(name, "_test.go")
}

// walk visits all files below root, or root itself if it is a file. walk skips files and folders for whose names out
// returns true.
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

// embeds returns the patterns of all //go:embed comments, by folder, for all build constraints. If a file is not valid,
// go build reports this.
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

// embed adds the files that a pattern matches in a folder. If the pattern matches a folder, embed adds all files below
// it. embed skips hidden files unless the pattern has the prefix all:. embed also adds files whose names begin with _.
// Go would skip these files, but adding them does no harm.
func (s source) embed(folder, pattern string) {
	pattern, everything := strings.CutPrefix(pattern, "all:")
	matches, _ := fs.Glob(os.DirFS(folder), pattern)
	for _, match := range matches {
		_ = walk(filepath.Join(folder, match), func(name string) bool { return hidden(name) && !everything }, s.add)
	}
}
