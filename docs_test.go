package psbench_test

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/plan/config/option"
)

// documents returns the text of every Markdown page, by path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			pages[path] = string(data)
		}
	}
	if len(pages) == 0 {
		t.Fatal("there are no documents")
	}
	return pages
}

var (
	link     = regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`)
	code     = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	headline = regexp.MustCompile("(?m)^#+ (.*)$")
)

// Every link in the docs leads to an existing file. If the link names a headline, the file has that headline.
func TestLinksOfDocumentsLeadSomewhere(t *testing.T) {
	pages, anchors := documents(t), 0
	for path, text := range pages {
		for _, found := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			to := path
			if found[1] != "" {
				to = filepath.Join(filepath.Dir(path), found[1])
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which is not there", path, found[1])
			} else if found[2] != "" {
				anchors++
				if !slices.Contains(headlines(pages[to]), found[2]) {
					t.Errorf("%s links to %s, which has no headline %s", path, to, found[2])
				}
			}
		}
	}
	if anchors < 20 {
		t.Errorf("found %d links to headlines: the pattern of this test no longer fits them", anchors)
	}
}

// headlines returns the anchors of a page's headlines, in the form that links use.
func headlines(page string) []string {
	var out []string
	for _, found := range headline.FindAllStringSubmatch(code.ReplaceAllString(page, ""), -1) {
		kept := regexp.MustCompile(`[^\w -]`).ReplaceAllString(strings.ToLower(found[1]), "")
		out = append(out, "#"+strings.ReplaceAll(kept, " ", "-"))
	}
	return out
}

// toBeAdded are files that the reader of a guide creates.
var toBeAdded = []string{"plugins/servers/sum.go", "cmd/psbench/testdata/script/sum.txtar"}

// Every folder and file that a page names as code exists. A source file may be named without its folder.
func TestPathsOfDocumentsAreThere(t *testing.T) {
	sources := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if path != "." && strings.HasPrefix(entry.Name(), ".") && entry.IsDir() { // hidden folders may change at any time
			return filepath.SkipDir
		}
		sources[filepath.Base(path)] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	path := regexp.MustCompile("`((?:bench|cmd|comm|configs|core|docs|internal|plugins|schemas|sdk)/[\\w./-]+)`")
	source := regexp.MustCompile("`([\\w-]+\\.go)`")
	count := 0
	for page, text := range documents(t) {
		for _, found := range path.FindAllStringSubmatch(text, -1) {
			count++
			if _, err := os.Stat(found[1]); err != nil && !slices.Contains(toBeAdded, found[1]) {
				t.Errorf("%s names %s, which is not there", page, found[1])
			}
		}
		for _, found := range source.FindAllStringSubmatch(text, -1) {
			if !sources[found[1]] {
				t.Errorf("%s names %s, which is in no folder", page, found[1])
			}
		}
	}
	if count < 100 {
		t.Errorf("found %d paths on the pages: the pattern of this test no longer fits them", count)
	}
}

func TestEveryFlagIsDocumented(t *testing.T) {
	page := documents(t)["docs/flags.md"]
	documented := map[string]bool{}
	row := regexp.MustCompile("(?m)^\\| `--([a-z-]+)[` ]")
	for _, found := range row.FindAllStringSubmatch(page, -1) {
		documented[found[1]] = true
	}
	for _, o := range option.All() {
		if !documented[o.Flag()] {
			t.Errorf("docs/flags.md has no row for --%s", o.Flag())
		}
		delete(documented, o.Flag())
	}
	for flag := range documented {
		t.Run(flag, func(t *testing.T) {
			t.Errorf("docs/flags.md has a row for --%s, which is no flag", flag)
		})
	}
}

// docs/metrics.md names every series that the sources record.
func TestEveryMetricIsDocumented(t *testing.T) {
	page := documents(t)["docs/metrics.md"]
	series := regexp.MustCompile(`\.Series\((?:"(\w+)"|futureMetric), "([^"]+)"\)`)
	count := 0
	for _, pattern := range []string{"plugins/*/*.go", "plugins/*/*/*.go", "sdk/*.go"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			for _, found := range series.FindAllStringSubmatch(string(source), -1) {
				count++
				for _, name := range found[1:] {
					if !strings.Contains(page, name) {
						t.Errorf("docs/metrics.md does not name %q of %s", name, path)
					}
				}
			}
		}
	}
	if count < 11 {
		t.Errorf("found %d series in the sources: the pattern of this test no longer fits them", count)
	}
}

// docs/engines.md shows the interfaces of a new engine exactly as the sources declare them.
func TestEnginesPageHasTheInterfaces(t *testing.T) {
	page := documents(t)["docs/engines.md"]
	for _, file := range []string{"sdk/engine/engine.go", "sdk/optimizer/elsewhere.go"} {
		t.Run(file, func(t *testing.T) {
			files := token.NewFileSet()
			source, err := parser.ParseFile(files, file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			methods := 0
			ast.Inspect(source, func(n ast.Node) bool {
				named, ok := n.(*ast.TypeSpec)
				if !ok || named.Name.Name != "Engine" {
					return true
				}
				for _, m := range named.Type.(*ast.InterfaceType).Methods.List {
					var signature strings.Builder
					if len(m.Names) == 0 {
						continue // the embedded interfaces: io.Closer, and the engine inside an optimizer's engine
					}
					methods++
					if err := printer.Fprint(&signature, files, m.Type); err != nil {
						t.Fatal(err)
					}
					if line := "\t" + m.Names[0].Name + strings.TrimPrefix(signature.String(),
						"func") + "\n"; !strings.Contains(page, line) {
						t.Errorf("docs/engines.md does not have the method%s", line)
					}
				}
				return false
			})
			if methods == 0 {
				t.Errorf("%s has no interface Engine", file)
			}
		})
	}
}
