//go:build !race

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The plugin of the gorgonia page builds and runs, and the page shows a part of the plugin's source.
func TestGorgoniaPage(t *testing.T) {
	dir := moduleBeside(t, "tanh-plugin")
	for _, file := range []string{"main.go", "tanh.json"} {
		write(t, filepath.Join(dir, file), readPage(t, "cmd/psbench/testdata/tanh/"+file))
	}
	shown := codeBlock(t, readPage(t, "docs/gorgonia.md"), "go", "gorgonia.Node")
	if !strings.Contains(readPage(t, "cmd/psbench/testdata/tanh/main.go"), shown) {
		t.Errorf("docs/gorgonia.md shows lines that are not in testdata/tanh/main.go:\n%s", shown)
	}
	goIn(t, dir, "build", "-ldflags=-s -w", "-o", "tanh-plugin", ".")
	status, stdout, stderr := psbenchMain(t, "--registry", filepath.Join(dir, "tanh.json"), "--model", "tanh", "--set",
		"model.hidden=64",
		"--trainer", "ddp", "--server", "average")
	if status != 0 || !strings.Contains(stdout, "tanh") {
		t.Errorf("exit status %d\n%s%s", status, stdout, stderr)
	}
}

// The steps in CONTRIBUTING.md add a server: psbench builds with it, and the script that tests it passes.
func TestServerOfTheGuide(t *testing.T) {
	dir, page := t.TempDir(), readPage(t, "CONTRIBUTING.md")
	changed := map[string]string{"plugins/servers/sum.go": codeBlock(t, page, "go", "package servers\n")}
	for path, c := range map[string]struct{ after, line string }{
		"plugins/servers/servers.go": {"return []sdk.Part{\n",
			codeBlock(t, page, "go", `sdk.NewElementwiseServer("sum"`)},
		"registry.json": {"\"server_map\": {\n",
			strings.TrimSpace(codeBlock(t, page, "json", `"sum"`)) + ",\n"},
	} {
		before, rest, found := strings.Cut(readPage(t, path), c.after)
		if !found {
			t.Fatalf("%s has no %q", path, c.after)
		}
		changed[path] = before + c.after + c.line + rest
	}
	replace := map[string]string{}
	for path, content := range changed {
		replace[filepath.Join(root(t), path)] = filepath.Join(dir, filepath.Base(path))
		write(t, filepath.Join(dir, filepath.Base(path)), content)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "overlay.json"), string(overlay))
	goIn(t, root(t), "build", "-ldflags=-s -w", "-overlay", filepath.Join(dir, "overlay.json"), "-o",
		filepath.Join(dir, "psbench"), "./cmd/psbench")
	script := filepath.Join(dir, "sum.txtar")
	write(t, script, codeBlock(t, page, "", "--server sum"))
	testscript.Run(t, testscript.Params{Files: []string{script}, Setup: func(e *testscript.Env) error {
		e.Setenv("PATH", dir+string(filepath.ListSeparator)+e.Getenv("PATH"))
		return nil
	}})
}

// moduleBeside creates a module that requires this checkout. The module lists psbench's own requirements. The command
// "go mod tidy" would also need modules that only the tests of dependencies use, and the test machine may lack these.
func moduleBeside(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	for _, file := range []string{"go.mod", "go.sum"} {
		write(t, filepath.Join(dir, file), readPage(t, file))
	}
	const psbench = "github.com/psbench/psbench"
	goIn(t, dir, "mod", "edit", "-module", name, "-require", psbench+"@v0.0.0", "-replace", psbench+"="+root(t))
	return dir
}

// goIn runs the go command in a folder, without network access.
func goIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	runIn(t, dir, "go", args...)
}

func runIn(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	command := exec.Command(name, args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// root returns the folder of this checkout.
func root(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// readPage reads a file of this checkout.
func readPage(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root(t), path))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// block matches a code block on a page: its indentation, its language and its text.
var block = regexp.MustCompile("(?ms)^( *)```(\\w*)\n(.*?)^ *```\n")

// codeBlock returns the page's first code block in the given language that contains the given words. It removes the
// indentation of a surrounding list.
func codeBlock(t *testing.T, page, language, words string) string {
	t.Helper()
	for _, found := range block.FindAllStringSubmatch(page, -1) {
		code := regexp.MustCompile("(?m)^"+found[1]).ReplaceAllString(found[3], "")
		if found[2] == language && strings.Contains(code, words) {
			return code
		}
	}
	t.Fatalf("the page has no block of %q with %q", language, words)
	return ""
}
