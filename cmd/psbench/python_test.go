package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pythonModules are what the package psbench imports, which is why a plugin in Python needs them.
var pythonModules = []string{"grpc", "google.protobuf", "numpy"}

// findPython is a python3 that can run plugins and has these modules besides: that of PATH, or the one
// that the distribution installs modules for.
func findPython(modules ...string) (path string, err error) {
	wanted := strings.Join(append(modules, pythonModules...), ", ")
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if path, err = exec.LookPath(name); err != nil {
			continue
		}
		if err = exec.Command(path, "-c", "import "+wanted).Run(); err == nil { // #nosec G204 -- names of modules
			return path, nil
		}
	}
	return "", fmt.Errorf(
		"no python3 has %s (%w): Debian's are python3-grpcio, python3-protobuf, python3-numpy and python3-torch",
		wanted, err)
}

// withPython is a PATH on which python3 can run plugins and has these modules besides. A test is skipped
// where no python3 has them.
func withPython(t testing.TB, modules ...string) string {
	t.Helper()
	python, err := findPython(modules...)
	if err != nil {
		t.Skip(err)
	}
	first := t.TempDir()
	if err := os.Symlink(python, filepath.Join(first, "python3")); err != nil {
		t.Fatal(err)
	}
	return first + string(filepath.ListSeparator) + os.Getenv("PATH")
}
