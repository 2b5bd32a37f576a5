package scaffold

import (
	"bytes"
	"encoding/json"
	"go/format"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	source "github.com/psbench/psbench"
	"github.com/psbench/psbench/core/plan/registry"
)

// clone returns the clone that contains this test.
func clone(t *testing.T) Module {
	t.Helper()
	m, err := CloneAt("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Every project has the same files. The Go code of a project is formatted, its program is executable, and its registry
// file gives the name of the project to a part of the right kind.
func TestProjects(t *testing.T) {
	want := map[Language][]string{
		Go:     {".gitignore", "README.md", "go.mod", "go.sum", "main.go", "main_test.go", "registry.json"},
		Python: {".gitignore", "README.md", "Some_key1.py", "registry.json", "test_Some_key1.py"},
	}
	for _, kind := range Kinds {
		for _, language := range Languages {
			if kind.In(language) != nil {
				continue
			}
			t.Run(kind.Name+" in "+string(language), func(t *testing.T) {
				name := map[Language]string{Go: "Some_key-1", Python: "Some_key1"}[language]
				testProject(t, Project{Kind: kind, Language: language, Name: name,
					Dir: filepath.Join(t.TempDir(), "a", "b"), With: clone(t)}, want[language])
			})
		}
	}
}

func testProject(t *testing.T, p Project, want []string) {
	paths, err := p.Write()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range paths {
		name, err := filepath.Rel(p.Dir, path)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(name) == ".go" {
			if formatted, err := format.Source(text); err != nil || !bytes.Equal(formatted, text) {
				t.Errorf("%s is not formatted: %v", name, err)
			}
		}
		if bytes.Contains(text, []byte("<no value>")) || bytes.Contains(text, []byte("{{"+"{{")) {
			t.Errorf("%s has a hole:\n%s", name, text)
		}
		if name == "README.md" {
			for _, command := range p.Try() {
				if !bytes.Contains(text, []byte(command+"\n")) {
					t.Errorf("README.md does not say %s", command)
				}
			}
		}
	}
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
	r, err := registry.Load(source.Registry, "", filepath.Join(p.Dir, "registry.json"))
	if err != nil {
		t.Fatal(err)
	}
	items := r.Items(p.Kind.Kind)
	at := slices.IndexFunc(items, func(i registry.Item) bool { return i.Key == p.Name })
	if at < 0 {
		t.Fatalf("registry.json has no %s %s", p.Kind.Kind, p.Name)
	}
	program := filepath.Join(p.Dir, p.Program())
	if d := cmp.Diff([]string{program}, items[at].Plugin.Command); d != "" {
		t.Errorf("its program is %s", d)
	}
	if info, err := os.Stat(program); p.Language == Python && (err != nil || info.Mode()&0o100 == 0) {
		t.Errorf("its program cannot be run: %v", err)
	}
}

// If one of the files already exists, Write writes no files.
func TestNothingIsWrittenOver(t *testing.T) {
	for _, name := range []string{"README.md", "registry.json", ".gitignore", "mine"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			if err := os.Symlink("/nowhere", path); err != nil {
				t.Fatal(err)
			}
			_, err := Project{Kind: Kinds[0], Language: Go, Name: "mine", Dir: dir, With: clone(t)}.Write()
			if want := "file " + path +
				" already exists, and psbench does not overwrite it: give another folder by --dir"; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("%s: there are %v (%v)", name, left, err)
			}
		})
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"a", "topk", "Top-K_2", strings.Repeat("x", 100)} {
		t.Run(name, func(t *testing.T) {
			if err := CheckName(t.Context(), name, Kinds[0], Go); err != nil {
				t.Error(err)
			}
		})
	}
	for _, name := range []string{"", "-x", "_x", "9x", "a b", "a/b", "..", "a.b", "é", "a\n",
		strings.Repeat("x", 101)} {
		t.Run(name, func(t *testing.T) {
			if err := CheckName(t.Context(), name, Kinds[0], Go); err == nil ||
				!strings.Contains(err.Error(), "must begin with a letter") {
				t.Errorf("%q gives %v", name, err)
			}
		})
	}
}

// The name of a Python project must be a valid name for a module, and its class name for a class.
func TestNamesInPython(t *testing.T) {
	kind := Kinds[slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == "hook" })]
	for name, want := range map[string]string{
		"top-k": `the name "top-k" must have no -, because it names a Python module: try top_k`,
		"torch": `the name "torch" belongs to a module that plugins import, which torch.py would hide: choose another name, such as torch_hook`,
		"grpc":  `the name "grpc" belongs to a module that plugins import, which grpc.py would hide: choose another name, such as grpc_hook`,
		"class": `the name "class" is a reserved word of Python: choose another name, such as class_hook`,
		"none":  `the name "none" is a reserved word of Python: choose another name, such as none_hook`,
	} {
		t.Run(name, func(t *testing.T) {
			if err := CheckName(t.Context(), name, kind, Python); err == nil || err.Error() != want {
				t.Errorf("%s gives %v, want %s", name, err, want)
			}
			if err := CheckName(t.Context(), name, kind, Go); err != nil {
				t.Errorf("%s gives %v in Go, which has no such module", name, err)
			}
		})
	}
	for name, want := range map[string]string{"topk": "Topk", "top_k": "TopK", "Top_2k_": "Top2k"} {
		t.Run(name, func(t *testing.T) {
			if got := className(name); got != want || CheckName(t.Context(), name, kind, Python) != nil {
				t.Errorf("%s gives %s", name, got)
			}
		})
	}
}

// go.mod contains all requirements of psbench once, and go.sum contains their checksums.
func TestModuleOfAClone(t *testing.T) {
	m := clone(t)
	goMod, goSum, err := m.files(Project{Name: "mine"}.module())
	if err != nil {
		t.Fatal(err)
	}
	own := requirements(source.GoMod)
	if len(own) < 50 ||
		!slices.ContainsFunc(own, func(r string) bool { return strings.HasPrefix(r, "gorgonia.org/cu v") }) {
		t.Errorf("psbench requires %q", own)
	}
	if d := cmp.Diff(append([]string{}, own...), requirements(goMod)); d != "" {
		t.Error(d)
	}
	for _, want := range []string{"module example.com/psbench-mine\n\ngo 1.",
		"\nrequire github.com/psbench/psbench v0.0.0\n", "\nreplace github.com/psbench/psbench => " + m.Clone + "\n"} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(string(goMod), want) {
				t.Errorf("go.mod lacks %q:\n%s", want, goMod)
			}
		})
	}
	if !bytes.Equal(goSum, source.GoSum) {
		t.Error("go.sum is not that of psbench")
	}
}

// Whatever characters the path of a clone contains, go.mod refers to this clone, or the project is refused.
func TestPathsInModules(t *testing.T) {
	for path, want := range map[string]string{
		"/a/b-c_d.e": "/a/b-c_d.e",
		"/a;b":       "/a;b",
		"/a (b) c":   `"/a (b) c"`,
		"/a[b]":      `"/a[b]"`,
		"/a{b},c":    `"/a{b},c"`,
		"/a\u00a0b":  `"/a\u00a0b"`,
		"/a'b\"":     `"/a'b\""`,
		"/a\xff":     `"/a\xff"`,
		"/a/*b":      `"/a/*b"`,
		"/é":         "/é",
	} {
		t.Run(path, func(t *testing.T) {
			if got := quotedPath(path); got != want {
				t.Errorf("%q is %s, want %s", path, got, want)
			}
		})
	}
	for _, path := range []string{`/a\b`, "/a\nb"} {
		t.Run(path, func(t *testing.T) {
			if _, _, err := (Module{Clone: path}).files("example.com/x"); err == nil ||
				!strings.Contains(err.Error(), "has a backslash or a control character in its path") {
				t.Errorf("%q gives %v", path, err)
			}
		})
	}
}

// The checksum of a released go.mod equals the checksum that Go's tools compute for the same text.
func TestModuleOfAReleasedVersion(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Path: psbench, Version: "v1.2.3", Sum: "h1:abc="}}
	m, is := Released(info)
	if !is {
		t.Fatal("it is not released")
	}
	goMod, goSum, err := m.files(Project{Name: "mine"}.module())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(goMod), "replace") ||
		!strings.Contains(string(goMod), "\nrequire github.com/psbench/psbench v1.2.3\n") {
		t.Errorf("go.mod is\n%s", goMod)
	}
	if d := cmp.Diff(append([]string{}, requirements(source.GoMod)...), requirements(goMod)); d != "" {
		t.Error(d)
	}
	if !strings.HasPrefix(string(goSum), psbench+" v1.2.3 h1:abc=\n"+psbench+" v1.2.3/go.mod h1:") ||
		!bytes.HasSuffix(goSum, source.GoSum) {
		t.Errorf("go.sum begins with %.200s", goSum)
	}
	// github.com/pkg/errors v0.9.1 has no go.mod. Go generates one that contains only the module line.
	if got := string(sums([]byte("module github.com/pkg/errors\n"), "v0.9.1", "")); !strings.HasSuffix(got,
		"/go.mod h1:bwawxfHBFNV+L2hUp1rHADufV3IMtnDRdf1r5NINEl0=\n") {
		t.Errorf("the sum of a go.mod is %s", got)
	}
	for i, none := range []*debug.BuildInfo{nil, {},
		{Main: debug.Module{Path: psbench, Version: "v0.0.0-20261122-abc+dirty"}}} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if _, is := Released(none); is {
				t.Errorf("%v is released", none)
			}
		})
	}
}

func TestClones(t *testing.T) {
	m := clone(t)
	found, is, err := CloneAround(filepath.Join(m.Clone, "core", "author", "scaffold", "psbench"))
	if err != nil || !is || found != m {
		t.Errorf("the clone around this folder is %v, %v (%v)", found, is, err)
	}
	dir := t.TempDir()
	if found, is, err := CloneAround(filepath.Join(dir, "psbench")); err != nil || is {
		t.Errorf("the clone around %s is %v (%v)", dir, found, err)
	}
	for name, text := range map[string]string{"none": "", "another": "module example.com/psbench\n",
		"empty": "go 1.26\n"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(dir, name)
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if text != "" {
				if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want := dir + " is not a clone of psbench: it needs a go.mod of module github.com/psbench/psbench"
			if _, err := CloneAt(dir); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// Descriptions may contain any words. In a registry file, descriptions must be valid JSON.
func TestDescriptionsFitIntoJSON(t *testing.T) {
	for _, kind := range Kinds {
		t.Run(kind.Name, func(t *testing.T) {
			if text, err := json.Marshal(kind.Does); err != nil || string(text) != `"`+kind.Does+`"` {
				t.Errorf("%s: %s (%v)", kind.Name, text, err)
			}
		})
	}
}
