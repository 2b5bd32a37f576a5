package psbench_test

import (
	"cmp"
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/internal/golden"
)

// The page docs/rooms.md lists packages with the first clause of their comments. The comments are the source.
func TestRoomsPage(t *testing.T) {
	page := new(strings.Builder)
	page.WriteString("# Packages\n\nThe packages of psbench, by folder, with the beginning of their comments. The list lacks helpers for tests.\n" +
		"[ARCHITECTURE.md](../ARCHITECTURE.md) explains how they work together. " +
		"`go test . -run RoomsPage -update` writes this page.\n")
	rooms := synopses(t)
	if len(rooms) < 100 {
		t.Fatalf("found %d packages with a comment, and there are more than 100", len(rooms))
	}
	last := ""
	for _, folder := range slices.SortedFunc(maps.Keys(rooms), byWing) {
		if helper.MatchString(folder) {
			continue
		}
		if headline := cmp.Or(wing.FindString(folder), "The root"); headline != last {
			fmt.Fprintf(page, "\n## %s\n\n", headline)
			last = headline
		}
		fmt.Fprintf(page, "- `%s`: %s\n", strings.TrimPrefix(folder, last+"/"), rooms[folder])
	}
	golden.Require(t, "docs/rooms.md", page.String())
}

// helper matches the folders of packages that only psbench's own tests use.
var helper = regexp.MustCompile(`^(core|cuda|internal|plugins)/.*test$`)

var wing = regexp.MustCompile(`^(core/\w+|internal/(host|comm|points)\b|\w+)`)

// byWing orders folders by their headlines, then by name.
func byWing(a, b string) int {
	return cmp.Or(strings.Compare(wing.FindString(a), wing.FindString(b)), strings.Compare(a, b))
}

// synopses returns the first clauses of package comments, by folder. Test files are skipped.
func synopses(t *testing.T) map[string]string {
	t.Helper()
	rooms, set := map[string]string{}, token.NewFileSet()
	all := sources(t)
	for _, file := range slices.Sorted(maps.Keys(all)) {
		parsed, err := parser.ParseFile(set, file, all[file], parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		if folder := path.Dir(file); parsed.Doc != nil && rooms[folder] == "" {
			rooms[folder] = purpose(new(doc.Package).Synopsis(parsed.Doc.Text()))
		}
	}
	return rooms
}

var named = regexp.MustCompile(`^(Package|Command) [\w-]+ (is |has |holds |provides |implements |defines )?`)

// purpose removes the package's name from a sentence, because the list already shows the name. It also ends the
// sentence before the first addition that follows four words or more.
func purpose(sentence string) string {
	short := strings.TrimSuffix(named.ReplaceAllString(sentence, ""), ".")
	for _, start := range addition.FindAllStringIndex(short, -1) {
		if main := short[:start[0]]; len(strings.Fields(main)) >= 4 {
			return main
		}
	}
	return short
}

// addition matches the beginning of a part of a sentence that adds details.
var addition = regexp.MustCompile(`[:;] |, (so that|whose|where|wherever|which|and [a-z]+s) `)
