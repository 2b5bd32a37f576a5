package psbench_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/importer"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const modulePath = "github.com/psbench/psbench"

// publicPackages reads the tables of docs/public.md. The first result has the packages with a compatibility promise.
// The second has packages and folders without one; names of folders end in a slash.
func publicPackages(t *testing.T) (promised, others []string) {
	t.Helper()
	with, without, found := strings.Cut(documents(t)["docs/public.md"], "## Without a promise")
	if !found {
		t.Fatal("docs/public.md has no headline Without a promise")
	}
	row := regexp.MustCompile("(?m)^\\| `([\\w/]+)`")
	for _, found := range row.FindAllStringSubmatch(with, -1) {
		promised = append(promised, found[1])
	}
	for _, found := range row.FindAllStringSubmatch(without, -1) {
		others = append(others, found[1])
	}
	return promised, others
}

// listed is a package as go list prints it.
type listed struct{ ImportPath, Name, Export string }

// listPackages runs go list with the given arguments and returns the packages by their path within the module.
func listPackages(t *testing.T, args ...string) map[string]listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=ImportPath,Name,Export"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]listed{}
	for list := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages[withinModule(p.ImportPath)] = p
	}
}

// withinModule strips the module's path from the import path of one of its packages.
func withinModule(path string) string {
	if path == modulePath {
		return "psbench"
	}
	return strings.TrimPrefix(path, modulePath+"/")
}

// isInternal reports whether Go refuses imports of the package from outside the module.
func isInternal(path string) bool { return slices.Contains(strings.Split(path, "/"), "internal") }

// The tables in docs/public.md list every package that a plugin could import. Every row names an existing package.
func TestPublicPageListsThePackages(t *testing.T) {
	promised, others := publicPackages(t)
	packages := listPackages(t, "./...")
	for path, p := range packages {
		known := slices.Contains(promised, path) || slices.ContainsFunc(others, func(other string) bool {
			return path == other || strings.HasSuffix(other, "/") && strings.HasPrefix(path, other)
		})
		if !known && p.Name != "main" && !isInternal(path) {
			t.Errorf("docs/public.md does not list package %s: give it a row, or move it under internal", path)
		}
	}
	for _, path := range slices.Concat(promised, others) {
		if folder, isFolder := strings.CutSuffix(path, "/"); isFolder {
			if entry, err := os.Stat(folder); err != nil || !entry.IsDir() {
				t.Errorf("docs/public.md lists the folder %s, which is not there", path)
			}
		} else if _, there := packages[path]; !there {
			t.Errorf("docs/public.md lists package %s, which is not there", path)
		}
	}
}

// noExamples lists test plugins that are no examples for plugin authors, with the reasons.
var noExamples = map[string]string{
	"cmd/psbench/testdata/bad":      "it breaks the contract in ways that sdk/plugin does not let it",
	"cmd/psbench/testdata/dropping": "its table begins with the numbers that psbench's own begins with",
}

// Examples for plugin authors import only packages with a compatibility promise. The test checks the guides, the
// projects of psbench plugin new, and the test plugins.
func TestAuthorsAreShownPublicPackages(t *testing.T) {
	promised, _ := publicPackages(t)
	shown := documents(t)
	for _, root := range []string{"core/author/scaffold/templates", "cmd/psbench/testdata"} {
		addSources(t, shown, root)
	}
	imported := regexp.MustCompile(`"` + modulePath + `(/[\w/]+)?"`)
	count := 0
	for file, text := range shown {
		if noExamples[filepath.Dir(file)] != "" {
			continue
		}
		for _, path := range imported.FindAllString(text, -1) {
			count++
			if path = withinModule(strings.Trim(path, `"`)); !slices.Contains(promised, path) {
				t.Errorf("%s imports %s, which docs/public.md does not promise", file, path)
			}
		}
	}
	if count < 80 {
		t.Errorf("found %d imports: the pattern of this test no longer fits them", count)
	}
}

// addSources adds the Go files and templates below a folder to a map.
func addSources(t *testing.T, to map[string]string, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".go.tmpl") {
			return err
		}
		data, err := os.ReadFile(path)
		to[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// unnamed lists internal types that exported names of promised packages mention, with the reason why each is
// harmless.
var unnamed = map[string]string{
	"comm mentions internal/comm/shm.Segment":  "psbench's links alone use the segments of a Store and of a LookupStore",
	"sdk mentions internal/metric.Head":        "authors read its fields Type, Name and Unit, and never make one",
	"sdk mentions internal/metric.Histogram":   "authors read its fields, and never make one",
	"sdk mentions internal/packed.Chunk":       "psbench's host alone calls Snapshot.Chunks and Observations.Chunks",
	"sdk mentions internal/packed.Measurement": "psbench's host alone calls Snapshot.Chunks",
	"sdk mentions internal/packed.Observation": "psbench's host alone calls Observations.Chunks",
}

// Plugin authors can name every type that a promised package hands them. No such type is internal, unless the package
// has an alias for it.
func TestPromisedPackagesMentionNoInternalType(t *testing.T) {
	promised, _ := publicPackages(t)
	var patterns []string
	for _, path := range promised {
		patterns = append(patterns, "./"+path)
	}
	compiled := listPackages(t, append([]string{"-export", "-deps"}, patterns...)...)
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(compiled[withinModule(path)].Export)
	})
	seen := map[string]bool{}
	for _, path := range promised {
		p, err := imports.Import(modulePath + "/" + path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range internalTypes(p) {
			seen[path+" mentions "+found] = true
		}
	}
	for found := range seen {
		if unnamed[found] == "" {
			t.Errorf("package %s, which authors cannot name: give it an alias there, or do without it", found)
		}
	}
	for known, why := range unnamed {
		if !seen[known] {
			t.Errorf("no exported name of package %s any more: remove the exception (%s)", known, why)
		}
	}
}
