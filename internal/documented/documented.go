// Package documented runs the Python programs in the documentation, so that tests verify the documentation.
package documented

import (
	"os"
	"os/exec"
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

// Pandas runs the first program below a heading of a page, plus the line more, with arguments. Pandas skips the
// test if pandas is missing.
func Pandas(t testing.TB, page, heading, more string, arguments ...string) (stdout, stderr string) {
	t.Helper()
	python := Python("pandas")
	if python == "" {
		t.Skip("pandas is not installed")
	}
	doc, err := os.ReadFile(page) // #nosec G304 -- the test names it
	if err != nil {
		t.Fatal(err)
	}
	_, below, found := strings.Cut(string(doc), heading)
	_, program, open := strings.Cut(below, "```python\n")
	program, _, closed := strings.Cut(program, "```")
	if !found || !open || !closed {
		t.Fatalf("%s has no program in Python below %q", page, heading)
	}
	cmd := exec.Command(python, append([]string{"-c", program + more}, arguments...)...) // #nosec G204 -- the page's own
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("the program of %s: %v: %s", page, err, said.String())
	}
	return out.String(), said.String()
}
