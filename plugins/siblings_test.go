package plugins

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Parts of different kinds do not import each other, and trainers do not either. Shared code is in sdk or in an
// internal package. Tests may combine parts.
func TestSiblingsAreNoLibraries(t *testing.T) {
	const module = "github.com/psbench/psbench/plugins/"
	checked := 0
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			!strings.Contains(path, "/") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module)
			if !ours {
				continue
			}
			checked++
			if part(imported) != part(path) && !strings.Contains(imported, "internal/") {
				t.Errorf("%s imports plugins/%s", path, imported)
			}
		}
		return nil
	})
	if err != nil || checked < 10 {
		t.Errorf("%d imports were looked at, %v", checked, err)
	}
}

// part returns the folder that a file or package belongs to: the folder of one kind or of one trainer.
func part(path string) string {
	names := strings.Split(path, "/")
	if names[0] == "trainers" && len(names) > 1 {
		return "trainers/" + names[1]
	}
	return names[0]
}
