package executable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// isPython says whether a program is an interpreter of Python, by its name.
func isPython(program string) bool {
	return strings.HasPrefix(filepath.Base(program), "python") && filepath.Ext(program) != pythonExtension
}

const pythonExtension = ".py"

// modules are the files that a script of Python imports from its own folder, and that these import from
// there: modules, compiled ones too, and packages with all that is in them. What is imported from
// elsewhere, or by a name that is put together as the script runs, is not among them.
func modules(script string) ([]string, error) {
	script, err := Resolve(script)
	if err != nil {
		return nil, err
	}
	folder := filepath.Dir(script)
	seen := map[string]bool{}
	var found []string
	next := []string{script}
	for first := true; len(next) > 0; first = false {
		names, err := imports(next[0])
		if err != nil {
			return nil, err
		}
		if first {
			names = append(names, importedByPsbench...)
		}
		next = next[1:]
		for _, name := range names {
			if seen[name] {
				continue
			}
			seen[name] = true
			files, err := moduleFiles(folder, name)
			if err != nil {
				return nil, err
			}
			found = append(found, files...)
			for _, file := range files {
				if filepath.Ext(file) == pythonExtension {
					next = append(next, file)
				}
			}
		}
	}
	slices.Sort(found)
	return slices.DeleteFunc(slices.Compact(found), func(file string) bool { return file == script }), nil
}

// importedByPsbench are what the package psbench imports from elsewhere, which what lies beside the
// script would hide.
var importedByPsbench = []string{"google", "grpc", "numpy", "psbench", "torch"}

// moduleFiles are the files of the module of a name in a folder.
func moduleFiles(folder, name string) (files []string, err error) {
	for _, extension := range []string{pythonExtension, ".pyc"} {
		if path := filepath.Join(folder, name+extension); IsFile(path) {
			files = append(files, path)
		}
	}
	compiled, err := filepath.Glob(filepath.Join(folder, name+".*so")) // name.so, name.cpython-311-x86_64-linux-gnu.so
	if err != nil {
		return nil, err
	}
	files = append(files, compiled...)
	err = filepath.WalkDir(filepath.Join(folder, name), func(path string, _ fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err == nil && isModule(path) && IsFile(path):
			files = append(files, path)
		}
		return err
	})
	return files, err
}

// isModule says whether Python may import a file of a package, by its name. What Python keeps in
// __pycache__ it does not import without its source.
func isModule(path string) bool {
	switch filepath.Ext(path) {
	case pythonExtension, ".so":
		return true
	case ".pyc":
		return filepath.Base(filepath.Dir(path)) != "__pycache__"
	}
	return false
}

// importLine begins a statement that imports, by the names of modules or, with from, that of one; those
// of a package of its own, which begin with a dot, are in that package.
var importLine = regexp.MustCompile(
	`(?m)^[ \t]*(?:.*:[ \t]*)?(?:from[ \t]+([\pL\pM\pN_]+)|import[ \t]+([\pL\pM\pN_. \t,]+))`)

// oneStatement has each line be one statement, or a clause with one.
var oneStatement = strings.NewReplacer("\\\n", " ", ";", "\n")

// imports are the first names of the modules that a file of Python says it imports. A line that only
// looks so, in a text, does no harm: it names no file that is there, or one more.
func imports(path string) (names []string, err error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	for _, found := range importLine.FindAllStringSubmatch(oneStatement.Replace(string(text)), -1) {
		if found[1] != "" {
			names = append(names, found[1])
		}
		for list := range strings.SplitSeq(found[2], ",") {
			if fields := strings.FieldsFunc(list,
				func(r rune) bool { return strings.ContainsRune(" \t.", r) }); len(fields) > 0 {
				names = append(names, fields[0])
			}
		}
	}
	return names, nil
}

// guardCompiled is guard of the folder in which Python keeps what it compiled of a module, and runs in
// the place of that.
func guardCompiled(path string) error {
	folder := filepath.Join(filepath.Dir(path), "__pycache__")
	info, err := os.Lstat(folder)
	if filepath.Ext(path) != pythonExtension || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return guard(folder, info)
}
