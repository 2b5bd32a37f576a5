// Package scaffold generates projects for plugins. A project contains the smallest useful part of a kind, with
// settings, a test, a page that says how to try it, and a registry file. A Go project also contains a go.mod and a
// go.sum. With these files, a build needs no network if Go's module cache contains psbench's dependencies.
//
// A folder of templates contains the files of a project for one kind and language. A folder named all contains
// the files that all projects share, or all projects in one language.
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

// Project is a plugin to generate.
type Project struct {
	Kind     Kind
	Language Language
	Name     string // name of the plugin, its program and the key of its part
	Dir      string // is created if it does not exist
	With     Module // psbench with which a Go project is built
}

// Try returns the commands that test, build and measure the project. The commands must run in the project's folder.
func (p Project) Try() []string {
	run := "psbench --registry registry.json " + strings.ReplaceAll(p.Kind.run, "NAME", p.Name)
	if p.Language == Python {
		return []string{"PYTHONPATH=$(psbench plugin python) python3 -m unittest", run}
	}
	return []string{"go test .", "go build -o " + p.Name + " .", run}
}

// Program returns the name of the file that psbench starts.
func (p Project) Program() string {
	if p.Language == Python {
		return p.Name + ".py"
	}
	return p.Name
}

// module returns the path of the project's module, for use until the project is published under another path. The
// prefix psbench- is needed because Go does not allow every name, such as example.com/v1 or example.com/con.
func (p Project) module() string { return "example.com/psbench-" + p.Name }

// Write writes the project's files and returns their paths, in order. Write never overwrites a file: if one of the
// files exists, it writes none. If writing fails, Write removes the files that it has written.
func (p Project) Write() (paths []string, err error) {
	files, err := p.files()
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(files))
	for _, name := range append(names, p.Program()) { // go build would overwrite the program
		if _, err := os.Lstat(filepath.Join(p.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
			switch {
			case errors.Is(err, syscall.ENOTDIR):
				err = fmt.Errorf("%s is no folder: --dir gives another one", quote.Word(p.Dir))
			case err == nil:
				err = fmt.Errorf("file %s already exists, and psbench does not overwrite it: give another folder by --dir",
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

// files returns the contents of the project's files, by name.
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

// fileOf returns the name of the file that a template generates.
func (p Project) fileOf(template string) string {
	switch name := strings.TrimSuffix(template, ".tmpl"); name {
	case "gitignore":
		return ".gitignore" // a template named .gitignore would apply to the templates' folder
	case "part.py":
		return p.Program()
	case "test.py":
		return "test_" + p.Program()
	default:
		return name
	}
}

// className converts a name to the form of Python's class names.
func className(name string) string {
	var class strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		if word != "" {
			class.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return class.String()
}
