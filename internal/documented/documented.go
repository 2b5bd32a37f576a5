// Package documented runs the Python programs in the documentation, so that tests verify the documentation.
package documented

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Python returns a Python interpreter that has these modules, or "". Distributions may install modules for an
// interpreter that is not the first on the path.
func Python(modules string) string {
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import "+modules).Run() == nil { // #nosec G204 -- the test names them
			return python
		}
	}
	return ""
}

// Pandas runs a Python program with arguments. path names the program, or a page that contains it as its first program
// in Python. Pandas appends the line more to the program. If pandas is not installed, Pandas skips the test.
func Pandas(t testing.TB, path, more string, arguments ...string) (stdout, stderr string) {
	t.Helper()
	python := Python("pandas")
	if python == "" {
		t.Skip("pandas is not installed")
	}
	text, err := os.ReadFile(path) // #nosec G304 -- the test names it
	if err != nil {
		t.Fatal(err)
	}
	program := string(text)
	if filepath.Ext(path) == ".md" {
		_, below, open := strings.Cut(program, "```python\n")
		first, _, closed := strings.Cut(below, "```")
		if !open || !closed {
			t.Fatalf("%s has no program in Python", path)
		}
		program = first
	}
	cmd := exec.Command(python, append([]string{"-c", program + more}, arguments...)...) // #nosec G204 -- the page's own
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("the program of %s: %v: %s", path, err, said.String())
	}
	return out.String(), said.String()
}
