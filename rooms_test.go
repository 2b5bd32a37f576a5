package psbench_test

import (
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/internal/golden"
)

// docs/rooms.md lists every package with the first sentence of its comment. The comments are the source.
func TestRoomsPage(t *testing.T) {
	page := new(strings.Builder)
	page.WriteString("# Packages\n\nEvery package of psbench, with the first sentence of its comment.\n" +
		"[ARCHITECTURE.md](../ARCHITECTURE.md) explains how they work together. `go test . -run RoomsPage -update` writes this page.\n")
	rooms := synopses(t)
	if len(rooms) < 100 {
		t.Fatalf("found %d packages with a comment, and there are more than 100", len(rooms))
	}
	last := ""
	for _, folder := range slices.Sorted(maps.Keys(rooms)) {
		if wing := wingOf(folder); wing != last {
			fmt.Fprintf(page, "\n## %s\n\n| package | purpose |\n|---|---|\n", wing)
			last = wing
		}
		fmt.Fprintf(page, "| `%s` | %s |\n", folder, strings.ReplaceAll(rooms[folder], "|", `\|`))
	}
	golden.Require(t, "docs/rooms.md", page.String())
}

// wingOf is the headline under which a folder stands: the two first parts of its path where the first alone is a
// collection.
func wingOf(folder string) string {
	parts := strings.Split(folder, "/")
	if len(parts) > 1 && (parts[0] == "core" || parts[0] == "internal" && slices.Contains([]string{"host", "comm", "points"}, parts[1])) {
		return path.Join(parts[:2]...)
	}
	if parts[0] == "." {
		return "The root"
	}
	return parts[0]
}

// synopses are the first sentences of package comments, by folder, without helpers of tests.
func synopses(t *testing.T) map[string]string {
	t.Helper()
	files, err := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	rooms, set := map[string]string{}, token.NewFileSet()
	for file := range strings.FieldsSeq(string(files)) {
		if strings.HasSuffix(file, "_test.go") || strings.Contains(file, "testdata/") {
			continue
		}
		source, err := os.ReadFile(file)
		if os.IsNotExist(err) { // deleted and not yet committed
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(set, file, source, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		if parsed.Doc != nil && parsed.Name.Name != "testdata" {
			rooms[path.Dir(file)] = new(doc.Package).Synopsis(parsed.Doc.Text())
		}
	}
	return rooms
}
