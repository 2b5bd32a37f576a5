package psbench_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/psbench/psbench/core/config/option"
)

// documents are the pages for people, by path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md"} {
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

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

func TestLinksOfDocumentsLeadSomewhere(t *testing.T) {
	for path, text := range documents(t) {
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), found[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", path, found[1])
			}
		}
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
		t.Errorf("docs/flags.md has a row for --%s, which is no flag", flag)
	}
}

// Every series that the sources make must be in the page of metrics.
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
