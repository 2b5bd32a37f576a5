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

// isPython reports whether a program's name is the name of a Python interpreter.
func isPython(program string) bool {
	return strings.HasPrefix(filepath.Base(program), "python") && filepath.Ext(program) != pythonExtension
}

const pythonExtension = ".py"

// modules returns the files that a Python script imports from its own folder, directly or through other modules. The
// result contains modules, compiled modules, and packages with all their files. modules misses imports from other
// folders, and imports whose names are computed at run time.
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

// importedByPsbench lists packages that the Python package psbench imports from other folders. Files with the same
// names in the script's folder would be imported instead.
var importedByPsbench = []string{"google", "grpc", "numpy", "psbench", "torch"}

// moduleFiles returns the files of a named module in a folder.
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

// isModule reports whether a file name is the name of a file that Python may import from a package. Python does not
// import files of __pycache__ without their source.
func isModule(path string) bool {
	switch filepath.Ext(path) {
	case pythonExtension, ".so":
		return true
	case ".pyc":
		return filepath.Base(filepath.Dir(path)) != "__pycache__"
	}
	return false
}

// importLine matches the start of an import statement, with the names of its modules. importLine does not match a
// relative import, which begins with a dot and stays inside its package.
var importLine = regexp.MustCompile(
	`(?m)^[ \t]*(?:.*:[ \t]*)?(?:from[ \t]+([\pL\pM\pN_]+)|import[ \t]+([\pL\pM\pN_. \t,]+))`)

// oneStatement puts each statement on its own line.
var oneStatement = strings.NewReplacer("\\\n", " ", ";", "\n")

// imports returns the top-level names of the modules that a Python file imports. A line inside a string may look like
// an import. Such a line does no harm: its name adds a file or does not exist.
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

// guardCompiled calls Guard for the folder with the compiled module, because Python runs the compiled module instead of
// the source.
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
