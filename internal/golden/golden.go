// Package golden compares output of tests with committed files. People read these files and programs use them. go
// test -update rewrites them.
package golden

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update makes tests rewrite the files.
var Update = flag.Bool("update", false, "write the golden files and schemas of the tests anew")

// Require fails the test unless the file at path has this text.
func Require(t testing.TB, path, text string) {
	t.Helper()
	if *Update {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path) // #nosec G304 -- the test names it
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s is stale (-it is +it must be), go test -update writes it anew:\n%s", path, diff)
	}
}
