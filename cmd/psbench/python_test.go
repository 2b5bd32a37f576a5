package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pythonModules are what the package psbench imports, which is why a plugin in Python needs them.
var pythonModules = []string{"grpc", "google.protobuf", "numpy"}

// withPython is a PATH on which python3 can run plugins and has these modules besides: that of the
// test itself, or one on which the python3 that the distribution installs modules for comes first. A
// test is skipped where there is neither.
func withPython(t testing.TB, modules ...string) string {
	t.Helper()
	var missing error
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		path, err := exec.LookPath(name)
		if err == nil {
			err = exec.CommandContext(t.Context(), path, "-c", "import "+strings.Join(append(modules, pythonModules...), ", ")).Run()
		}
		switch {
		case err == nil && name == "python3":
			return os.Getenv("PATH")
		case err == nil:
			first := t.TempDir()
			if err := os.Symlink(path, filepath.Join(first, "python3")); err != nil {
				t.Fatal(err)
			}
			return first + string(filepath.ListSeparator) + os.Getenv("PATH")
		}
		missing = err
	}
	t.Skipf("no python3 has %s (%v): Debian's are python3-grpcio, python3-protobuf, python3-numpy and python3-torch", strings.Join(append(modules, pythonModules...), ", "), missing)
	return ""
}
