// Package scaffold writes projects of plugins: the smallest sensible part of a kind, with settings, a
// test, a page that says how to try it, a registry file, and, of one in Go, a go.mod and go.sum that
// need no network where Go's module cache has psbench's dependencies.
//
// A folder of templates is the project of a kind in a language; all has what is the same in each.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/template"

	"github.com/psbench/psbench/core/plan/registry"
	"github.com/psbench/psbench/internal/quote"
)

//go:embed all:templates
var templates embed.FS

// Project is a plugin that is to be written.
type Project struct {
	Kind     Kind
	Language Language
	Name     string // of the plugin, its program and its part's key
	Dir      string // which is made where there is none
	With     Module // that one in Go is built with
}

// Try is the commands that test, build and measure a project, in its folder.
func (p Project) Try() []string {
	run := "psbench --registry registry.json " + strings.ReplaceAll(p.Kind.run, "NAME", p.Name)
	if p.Language == Python {
		return []string{"PYTHONPATH=$(psbench plugin python) python3 -m unittest", run}
	}
	return []string{"go test .", "go build -o " + p.Name + " .", run}
}

// Program is the file that psbench starts.
func (p Project) Program() string {
	if p.Language == Python {
		return p.Name + ".py"
	}
	return p.Name
}

// module is the path of the project's module, until it is published under another. Not every name
// would be one: Go has no module example.com/v1 or example.com/con.
func (p Project) module() string { return "example.com/psbench-" + p.Name }

// Write makes the project's files and gives their paths, in order. Nothing is written over: where
// there is a file already it writes none. Those of a project that cannot be written whole are
// removed again.
func (p Project) Write() (paths []string, err error) {
	files, err := p.files()
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(files))
	for _, name := range append(names, p.Program()) { // which go build would write over
		if _, err := os.Lstat(filepath.Join(p.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
			switch {
			case errors.Is(err, syscall.ENOTDIR):
				err = fmt.Errorf("%s is no folder: --dir gives another one", quote.Word(p.Dir))
			case err == nil:
				err = fmt.Errorf("there is a file %s already, and nothing is written over: --dir gives another folder",
					quote.Word(filepath.Join(p.Dir, name)))
			}
			return nil, err
		}
	}
	if err := os.MkdirAll(p.Dir, 0o750); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			for _, path := range paths {
				_ = os.Remove(path)
			}
		}
	}()
	for _, name := range names {
		path, mode := filepath.Join(p.Dir, name), fs.FileMode(0o644)
		if name == p.Program() {
			mode = 0o755
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode) // #nosec G302 G304 -- a source file, in the user's folder
		if err != nil {
			return paths, err
		}
		paths = append(paths, path)
		_, err = f.Write(files[name])
		if err := errors.Join(err, f.Close()); err != nil {
			return paths, err
		}
	}
	return paths, nil
}

// files are the contents of the project's files, by name.
func (p Project) files() (map[string][]byte, error) {
	files := map[string][]byte{}
	if p.Language == Go {
		var err error
		if files["go.mod"], files["go.sum"], err = p.With.files(p.module()); err != nil {
			return nil, err
		}
	}
	values := map[string]any{
		"Name": p.Name, "Program": p.Program(), "Class": className(p.Name), "Title": p.Kind.title, "Does": p.Kind.Does,
		"Map":      registry.MapName(p.Kind.Kind),
		"Includes": p.Kind.includes, "Wrong": p.Kind.wrong, "Try": p.Try(), "Psbench": psbench,
	}
	for _, folder := range []string{"templates/all", "templates/" + string(p.Language) + "/all",
		"templates/" + string(p.Language) + "/" + p.Kind.Name} {
		found, err := templates.ReadDir(folder)
		if err != nil {
			return nil, err
		}
		for _, entry := range found {
			t, err := template.ParseFS(templates, folder+"/"+entry.Name())
			if err != nil {
				return nil, err
			}
			var text bytes.Buffer
			if err := t.Execute(&text, values); err != nil {
				return nil, err
			}
			files[p.fileOf(entry.Name())] = text.Bytes()
		}
	}
	return files, nil
}

// fileOf is the file that a template makes.
func (p Project) fileOf(template string) string {
	switch name := strings.TrimSuffix(template, ".tmpl"); name {
	case "gitignore":
		return ".gitignore" // which would count for the templates themselves
	case "part.py":
		return p.Program()
	case "test.py":
		return "test_" + p.Program()
	default:
		return name
	}
}

// className is a name as classes of Python have it.
func className(name string) string {
	var class strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		if word != "" {
			class.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return class.String()
}
