package develop

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// All files from which the program is built belong to the source. Files that a build or a run writes do not.
func TestSource(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "main.go",
		"package main\n\nimport _ \"embed\"\n\n//go:embed page.html \"some words\" rows/* m*\nvar text string\n")
	write(t, dir, "b/cgo_windows.go",
		"package b\n\nimport \"C\"\nimport _ \"embed\"\n\n//go:embed all:tree testdata\nvar text string\n")
	w := watch{program: "median"}
	before, err := w.read(link)
	if err != nil {
		t.Fatal(err)
	}
	for name, belongs := range map[string]bool{
		"a.go": true, "b/c.go": true, "b/add_amd64.s": true, "go.mod": true, "go.sum": true,
		"a.cc": true, "a.cpp": true, "a.cxx": true, "a.hh": true, "a.hpp": true, "a.hxx": true, "a.S": true,
		"a.sx": true, "a.syso": true,
		"a.m": true, "a.f": true, "a.F": true, "a.for": true, "a.f90": true, "a.swig": true, "a.swigcxx": true,
		"page.html": true, "some words": true, "rows/a.csv": true, "rows/more/b.csv": true, "b/tree/c/.d": true,
		"b/testdata/e": true,
		"a_test.go":    false, ".a.go": false, ".git/a.go": false, "testdata/a.go": false, "out.json": false,
		"median": false, "mean": true,
		"rows/more/.c": false, "b/page.html": false, "testdata/e": false,
	} {
		write(t, dir, name, "another")
		after, err := w.read(link)
		if err != nil || after.equal(before) == belongs {
			t.Errorf("%s changes the source: %t, want %t (%v)", name, !after.equal(before), belongs, err)
		}
		before = after
	}
	write(t, dir, "main.go", "package main\n\nimport _ \"embed\"\n\n//go:embed later.html\nvar text string\n")
	if before, err = w.read(dir); err != nil {
		t.Fatal(err)
	}
	for name, belongs := range map[string]bool{"later.html": true, "page.html": false} {
		write(t, dir, name, "a third")
		after, err := w.read(dir)
		if err != nil || after.equal(before) == belongs {
			t.Errorf("once main.go embeds another, %s changes the source: %t, want %t (%v)", name, !after.equal(before),
				belongs, err)
		}
		before = after
	}
	for _, none := range []string{t.TempDir(), filepath.Join(dir, "none"), filepath.Join(dir, "main.go", "x")} {
		if _, err := w.read(none); err == nil {
			t.Errorf("%s has a source", none)
		}
	}
}

// The source of a script is the script and all files that it may import.
func TestSourceInPython(t *testing.T) {
	dir := t.TempDir()
	w := watch{program: "median.py"}
	if _, err := w.read(dir); err == nil ||
		!strings.HasSuffix(err.Error(), "has no plugin source: no file of Python") {
		t.Errorf("an empty folder gives %v", err)
	}
	write(t, dir, "median.py", "first")
	before, err := w.read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, belongs := range map[string]bool{
		"median.py": true, "b.py": true, "b/c.py": true, "b/__init__.py": true,
		"test_median.py": false, "median_test.py": false, "main.go": false, ".a.py": false, "testdata/a.py": false,
		"__pycache__/b.pyc": false, "out.json": false,
	} {
		write(t, dir, name, "another")
		after, err := w.read(dir)
		if err != nil || after.equal(before) == belongs {
			t.Errorf("%s changes the source: %t, want %t (%v)", name, !after.equal(before), belongs, err)
		}
		before = after
	}
}

func TestProgramInPython(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	write(t, dir, "mine.py", "")
	write(t, dir, "other.py", "")
	check := func(want string) {
		t.Helper()
		if got, err := Program(dir); err != nil || got != filepath.Join(dir, want) {
			t.Errorf("the program is %s, %v, want %s", got, err, want)
		}
	}
	check("folder")
	if err := os.Chmod(filepath.Join(dir, "mine.py"), 0o700); err != nil { // #nosec G302 -- to be run
		t.Fatal(err)
	}
	check("mine.py")
	write(t, dir, "registry.json", `{"plugins": {"other": {"command": ["./other.py"]}}}`)
	check("other.py")
}

func TestProgram(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	for text, want := range map[string]string{"": "folder", "module example.org/median // x\n": "median",
		"// a\nmodule \"x/y\"\n\ngo 1.26\n": "y"} {
		write(t, dir, "go.mod", text)
		if got, err := Program(dir); err != nil || got != filepath.Join(dir, want) {
			t.Errorf("%q gives %s, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		`{"plugins": {"mine": {"command": ["./mine"]}}}`:                      "mine",
		`{"plugins": {"mine": {"command": ["../mine"]}}}`:                     "y",
		`{"plugins": {"mine": {"command": ["./run.sh", "mine"]}}}`:            "y",
		`{"plugins": {"a": {"command": ["./a"]}, "b": {"command": ["./b"]}}}`: "y",
		`{"plugins": `: "y",
	} {
		write(t, dir, "go.mod", "module x/y")
		write(t, dir, "registry.json", text)
		if got, err := Program(dir); err != nil || got != filepath.Join(dir, want) {
			t.Errorf("%s gives %s, %v", text, got, err)
		}
	}
}

// Only one process at a time can develop a folder.
func TestClaim(t *testing.T) {
	dir := t.TempDir()
	release, err := Claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Claim(dir); err == nil ||
		err.Error() != "another psbench plugin dev works on folder "+dir+": only one can" {
		t.Errorf("a second one gives %v", err)
	}
	release()
	if release, err = Claim(dir); err != nil {
		t.Fatal(err)
	}
	release()
	if _, err := Claim(filepath.Join(dir, "absent")); err == nil ||
		!strings.Contains(err.Error(), "absent: no such file") {
		t.Errorf("a folder that is not there gives %v", err)
	}
}

// If the folder was renamed, the error says that the folder is missing, not the compiler.
func TestBuildOfAFolderThatIsGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	if err := Build(t.Context(), dir, filepath.Join(dir, "program"), io.Discard); err == nil ||
		!strings.Contains(err.Error(), dir+": no such file") {
		t.Errorf("it gives %v", err)
	}
}

// If a pipe is where a file is expected, nothing waits for the pipe.
func TestPipesInTheSource(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	write(t, dir, "main.go", "x")
	write(t, dir, "sub/a.go", "x")
	for _, name := range []string{"go.mod", "registry.json", "other.go", "sub/b.go"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Program(dir); err != nil || got != filepath.Join(dir, "folder") {
		t.Errorf("the program is %s, %v", got, err)
	}
	if _, err := new(watch).read(dir); err != nil {
		t.Error(err)
	}
}

// A change of the source ends the current turn. A change that lasts for several checks starts only one turn.
func TestLoop(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	looks := []int64{0, 0, 1, 2, 3, 3, 3, 4, 4} // the source at each check
	var turns []int64
	var at atomic.Int64
	err := Loop{
		read: func(string) (source, error) {
			now := looks[min(int(at.Add(1)), len(looks))-1]
			return source{"main.go": stamp{size: now}}, nil
		},
		Turn: func(turn context.Context) {
			turns = append(turns, looks[min(int(at.Load()), len(looks))-1])
			switch len(turns) {
			case 2:
				return // after a turn that returned, Run still waits for a change
			case 3:
				cancel()
			}
			<-turn.Done()
		},
	}.Run(ctx)
	if diff := cmp.Diff([]int64{0, 3, 4}, turns); diff != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("turns of the wrong source: %s, %v", diff, err)
	}
}
