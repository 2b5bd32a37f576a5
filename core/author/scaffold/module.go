package scaffold

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	source "github.com/psbench/psbench"
	"github.com/psbench/psbench/core/host/executable"
	"github.com/psbench/psbench/internal/quote"
)

// psbench is the path of psbench's module.
const psbench = "github.com/psbench/psbench"

// Module is the psbench with which a project is built: a clone or a released version.
type Module struct {
	Clone   string // absolute path; "" for a released version
	Version string
	Sum     string // checksum of the version's files, as in go.sum
}

// Released returns the released version of psbench from which this program was built. Released returns false for a
// build in a clone, because such a build has no checksum.
func Released(info *debug.BuildInfo) (Module, bool) {
	if info == nil || info.Main.Path != psbench || info.Main.Sum == "" {
		return Module{}, false
	}
	return Module{Version: info.Main.Version, Sum: info.Main.Sum}, true
}

// CloneAt returns the clone of psbench in a folder.
func CloneAt(dir string) (Module, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Module{}, err
	}
	is, err := isClone(dir)
	if err == nil && !is {
		err = fmt.Errorf("%s is not a clone of psbench: it needs a go.mod of module %s", quote.Word(dir), psbench)
	}
	return Module{Clone: dir}, err
}

// CloneAround returns the clone of psbench that contains a file.
func CloneAround(file string) (m Module, found bool, err error) {
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		if is, err := isClone(dir); err != nil || is {
			return Module{Clone: dir}, is, err
		}
		if dir == filepath.Dir(dir) {
			return Module{}, false, nil
		}
	}
}

func isClone(dir string) (bool, error) {
	path := filepath.Join(dir, "go.mod")
	if !executable.IsFile(path) {
		return false, nil
	}
	text, err := os.ReadFile(path) // #nosec G304 -- the user's
	if errors.Is(err, fs.ErrPermission) {
		return false, nil
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "module" {
			return fields[1] == psbench, err
		}
	}
	return false, err
}

// files returns go.mod and go.sum for a module with this path. Both files contain all requirements of psbench, although
// a plugin needs only some of them. go mod tidy would keep only those, but it asks the network for more modules.
func (m Module) files(path string) (goMod, goSum []byte, err error) {
	goMod, goSum = source.GoMod, source.GoSum
	version := m.Version
	if m.Clone != "" {
		if strings.ContainsFunc(m.Clone, func(r rune) bool { return r == '\\' || unicode.IsControl(r) }) {
			return nil, nil,
				fmt.Errorf("the clone %s has a backslash or a control character in its path, which Go does not accept: move the clone, or give a link without such a character",
					quote.Word(m.Clone))
		}
		version = "v0.0.0"
		if goMod, err = os.ReadFile(filepath.Join(m.Clone, "go.mod")); err != nil {
			return nil, nil, err
		}
		if goSum, err = os.ReadFile(filepath.Join(m.Clone, "go.sum")); err != nil {
			return nil, nil, err
		}
	} else {
		goSum = append(sums(goMod, version, m.Sum), goSum...)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "module %s\n\n%s\nrequire %s %s\n\nrequire (\n", path, goLine(goMod), psbench, version)
	for _, required := range requirements(goMod) {
		fmt.Fprintf(&out, "\t%s // indirect\n", required)
	}
	fmt.Fprint(&out, ")\n")
	if m.Clone != "" {
		fmt.Fprintf(&out, "\nreplace %s => %s\n", psbench, quotedPath(m.Clone))
	}
	return out.Bytes(), goSum, nil
}

// sums returns the lines of go.sum for psbench itself. The checksum of its go.mod is the h1 hash of Go's module cache,
// for a list that contains only this file.
func sums(goMod []byte, version, sum string) []byte {
	list := sha256.Sum256(fmt.Appendf(nil, "%x  go.mod\n", sha256.Sum256(goMod)))
	return fmt.Appendf(nil, "%s %s %s\n%s %s/go.mod h1:%s\n", psbench, version, sum, psbench, version,
		base64.StdEncoding.EncodeToString(list[:]))
}

// goLine returns the line of a go.mod with the Go version.
func goLine(goMod []byte) string {
	for line := range strings.Lines(string(goMod)) {
		if strings.HasPrefix(line, "go ") {
			return line
		}
	}
	return ""
}

// requirements returns the modules with their versions that the require blocks of a go.mod list.
func requirements(goMod []byte) []string {
	var out []string
	inside := false
	for line := range strings.Lines(string(goMod)) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " //")
		switch {
		case line == "require (":
			inside = true
		case line == ")":
			inside = false
		case inside && line != "":
			out = append(out, line)
		}
	}
	return out
}

// quotedPath returns a path as it must be written in go.mod, by the rule of golang.org/x/mod/modfile.AutoQuote.
func quotedPath(path string) string {
	odd := func(r rune) bool { return strings.ContainsRune(" \"'`()[]{},", r) || !unicode.IsPrint(r) }
	if strings.ContainsFunc(path, odd) || strings.Contains(path, "//") || strings.Contains(path, "/*") ||
		!utf8.ValidString(path) {
		return strconv.Quote(path)
	}
	return path
}
