//go:build !race

package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts in testdata/python test the commands that authors of Python plugins use.
func TestPythonScripts(t *testing.T) {
	path := withPython(t)
	examples, err := filepath.Abs("../../python/examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/python",
		Setup: func(env *testscript.Env) error {
			withoutHome(env)
			env.Setenv("EXAMPLES", examples)
			env.Setenv("PATH", filepath.SplitList(path)[0]+string(filepath.ListSeparator)+env.Getenv("PATH"))
			return nil
		},
	})
}
