package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pythonModules are the modules that the package psbench imports, so every Python plugin needs them.
var pythonModules = []string{"grpc", "google.protobuf", "numpy"}

// findPython returns a python3 that can run plugins and has these additional modules. It tries the python3 on PATH,
// then the distribution's own.
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

// withPython returns a PATH whose python3 can run plugins and has these additional modules. It skips the test if no
// python3 has the modules.
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
