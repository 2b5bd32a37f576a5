package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The plugin on the page about gorgonia is built as it stands there, and runs.
func TestGorgoniaPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/gorgonia.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := moduleBeside(t, "tanh-plugin")
	for language, name := range map[string]string{"go": "main.go", "json": "tanh.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(codeBlock(t, string(page), language)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	goIn(t, dir, "build", "-ldflags=-s -w", "-o", "tanh-plugin", ".")
	status, stdout, stderr := psbenchMain(t, "--registry", filepath.Join(dir, "tanh.json"), "--model", "tanh", "--set", "model.hidden=64",
		"--trainer", "ddp", "--server", "average")
	if status != 0 || !strings.Contains(stdout, "tanh") {
		t.Errorf("exit status %d\n%s%s", status, stdout, stderr)
	}
}

// moduleBeside makes a module that requires this checkout. It lists psbench's own
// requirements: "go mod tidy" would find them, but needs more modules than the tests
// have, those of the dependencies' tests.
func moduleBeside(t *testing.T, name string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, file := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const psbench = "github.com/psbench/psbench"
	goIn(t, dir, "mod", "edit", "-module", name, "-require", psbench+"@v0.0.0", "-replace", psbench+"="+root)
	return dir
}

// goIn runs the go command in a folder, without the network.
func goIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	command := exec.Command("go", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// codeBlock is the page's first block of code in a language.
func codeBlock(t *testing.T, page, language string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, "\n```"+language+"\n")
	code, _, ends := strings.Cut(rest, "\n```\n")
	if !found || !ends {
		t.Fatalf("the page has no block of %s", language)
	}
	return code + "\n"
}
