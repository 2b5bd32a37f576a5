package psbench_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var draw = flag.Int("draw", 0, "print so many random sentences of each source, seeded by the commit")

// These are the sources of sentences.
const (
	ofDocs     = "docs"
	ofTexts    = "errors, help and tables"
	ofComments = "comments"
)

// sentence is a sentence that people read, with its place.
type sentence struct{ where, text string }

// TestReaders prints random sentences. A fresh reader marks those that must be read twice; at most 5 of 100 may be.
func TestReaders(t *testing.T) {
	all := sentences(t)
	if *draw == 0 {
		for source, found := range all {
			if len(found) < 500 {
				t.Errorf("%d sentences come from %s: the drawing has lost its source", len(found), source)
			}
		}
		return
	}
	commit, err := exec.CommandContext(t.Context(), "git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	seed := fnv.New64()
	seed.Write(commit)
	random := rand.New(rand.NewPCG(seed.Sum64(), 0)) // #nosec G404 -- a draw that can be repeated
	for _, source := range slices.Sorted(maps.Keys(all)) {
		fmt.Printf("\n%s\n", source)
		for i, k := range random.Perm(len(all[source]))[:*draw] {
			fmt.Printf("%3d  %s  [%s]\n", i+1, all[source][k].text, all[source][k].where)
		}
	}
}

// sentences returns all sentences by source: docs, strings that contain a space, and comments.
func sentences(t *testing.T) map[string][]sentence {
	t.Helper()
	all := map[string][]sentence{}
	for page, text := range documents(t) {
		for _, s := range ofPage(text) {
			all[ofDocs] = append(all[ofDocs], sentence{page, s})
		}
	}
	for path, source := range sources(t) {
		texts, comments := ofSource(t, path, source)
		all[ofTexts], all[ofComments] = append(all[ofTexts], texts...), append(all[ofComments], comments...)
	}
	for _, found := range all { // maps have no order
		slices.SortStableFunc(found, func(a, b sentence) int { return strings.Compare(a.where, b.where) })
	}
	return all
}

// sources returns the Go files of the programs by path, without tests and generated code.
func sources(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := exec.CommandContext(t.Context(),
		"git", "ls-files", "--cached", "--others", "--exclude-standard", "*.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	found, left := map[string][]byte{}, regexp.MustCompile(`_test\.go$|testdata/|\.pb\.go$`)
	for path := range strings.FieldsSeq(string(files)) {
		if left.MatchString(path) {
			continue
		}
		switch source, err := os.ReadFile(filepath.Clean(path)); {
		case os.IsNotExist(err): // deleted but not yet committed
		case err != nil:
			t.Fatal(err)
		default:
			found[path] = source
		}
	}
	return found
}

var (
	// ending matches the end of a sentence, but not abbreviations such as "e.g.".
	ending = regexp.MustCompile(`([a-z0-9)"'` + "`" + `%][.?!])\s+([A-Z"` + "`" + `])`)
	// marked matches Markdown's marks at the start of a line: headlines, quotes and list items.
	marked = regexp.MustCompile(`(?m)^\s*(#+|>|[-*]|\d+\.)\s+`)
	worded = regexp.MustCompile(`[a-z]`)
	linked = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	// markup matches HTML comments.
	markup = regexp.MustCompile(`(?s)<!--.*?-->`)
	begins = regexp.MustCompile(`^\s*(#|>|[-*] |\d+\. )`)
)

// ofPage splits a Markdown page into the sentences of paragraphs and list items, and table cells.
func ofPage(page string) []string {
	var out, paragraph []string
	flush := func() {
		text := linked.ReplaceAllString(marked.ReplaceAllString(strings.Join(paragraph, "\n"), ""), "$1")
		out, paragraph = append(out, apart(text)...), nil
	}
	for line := range strings.Lines(markup.ReplaceAllString(code.ReplaceAllString(page, "\n"), "")) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "|"):
			flush()
			for cell := range strings.SplitSeq(strings.ReplaceAll(line, `\|`, "¦"), "|") {
				out = append(out, apart(linked.ReplaceAllString(cell, "$1"))...)
			}
		case strings.TrimSpace(line) == "" || begins.MatchString(line):
			flush()
			paragraph = []string{line}
		default:
			paragraph = append(paragraph, line)
		}
	}
	flush()
	return out
}

// apart splits a text into sentences of at least three words.
func apart(text string) []string {
	var out []string
	text = strings.Join(strings.Fields(text), " ")
	for s := range strings.SplitSeq(ending.ReplaceAllString(text, "$1\x00$2"), "\x00") {
		if s = strings.TrimSpace(s); len(strings.Fields(s)) > 2 && worded.MatchString(s) {
			out = append(out, s)
		}
	}
	return out
}

// ofSource returns the sentences in the strings and the comments of a Go file.
func ofSource(t *testing.T, path string, source []byte) (texts, comments []sentence) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	add := func(to *[]sentence, at token.Pos, text string) {
		for _, s := range apart(text) {
			*to = append(*to, sentence{fmt.Sprintf("%s:%d", path, set.Position(at).Line), s})
		}
	}
	for _, group := range file.Comments {
		if !strings.Contains(group.Text(), "DO NOT EDIT") {
			add(&comments, group.Pos(), group.Text())
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BinaryExpr:
			if text, ok := joined(node); ok {
				add(&texts, node.Pos(), text)
				return false
			}
		case *ast.BasicLit:
			if text, ok := joined(node); ok && !strings.HasPrefix(text, "json:") {
				add(&texts, node.Pos(), text)
			}
		}
		return true
	})
	return texts, comments
}

// joined returns the text of a string constant that may span several lines.
func joined(node ast.Expr) (string, bool) {
	switch node := node.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(node.Value)
		return text, err == nil && node.Kind == token.STRING
	case *ast.BinaryExpr:
		left, ok := joined(node.X)
		right, too := joined(node.Y)
		return left + right, ok && too && node.Op == token.ADD
	}
	return "", false
}
