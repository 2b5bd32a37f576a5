//go:build !race

package data

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/psbench/psbench/sdk"
)

// For any file content and path, the error is one printable line of bounded length that names the file.
func TestErrorsOfHostileFiles(t *testing.T) {
	long := strings.Repeat("x", 20<<20)
	digits := strings.Repeat("9", 20<<20)
	const controls = "\x1b[31m\a\u202e\xff"
	file := func(path string) (sdk.Data, error) {
		s := DefaultFile
		s.Path = path
		return NewFile(s, sdk.DataEnv{})
	}
	clicks := func(categories string) func(path string) (sdk.Data, error) {
		return func(path string) (sdk.Data, error) {
			s := DefaultCriteo
			s.Path, s.Categories = path, categories
			return NewCriteo(s, sdk.DataEnv{})
		}
	}
	images := func(path string) (sdk.Data, error) {
		return NewIdx(IdxSettings{Images: path, Labels: path}, sdk.DataEnv{})
	}
	for _, c := range []struct {
		name, file, content, want string
		make                      func(path string) (sdk.Data, error)
	}{
		{"a long field of CSV", "a.csv", "1,2\n" + long + ",2\n", "line 2, column 1", file},
		{"controls in CSV", "a.csv", "1,2\n" + controls + ",2\n", "line 2, column 1", file},
		{"digits of CSV", "a.csv", "1,2\n" + digits + ",2\n", "line 2, column 1", file},
		{"a long row of CSV without a target", "a.csv", "1,2\n\"" + long, "line 2, column", file},
		{"a long field of JSON", "a.jsonl", `{"` + long + `": 1}`, "line 1, column 2", file},
		{"controls in a field of JSON", "a.jsonl", `{"\u001b\u202e": 1}`, "line 1, column 2", file},
		{"a long value of JSON", "a.jsonl", `{"input": ["` + long + `"], "target": 1}`, "line 1, column 12", file},
		{"digits of JSON", "a.jsonl", `{"input": [` + digits + `], "target": 1}`, "line 1, column 12", file},
		{"digits of a feature", "a.jsonl", `{"features": [` + digits + `], "target": 1}`, "line 1, column 15", file},
		{"a long string for a list", "a.jsonl", `{"input": "` + long + `"}`, "line 1, column 11", file},
		{"controls in JSON", "a.jsonl", "{\"input\": [" + controls, "line 1, column", file},
		{"a path that tells no format", controls + "\n.x", "1", "does not show its format", file},
		{"a path with controls", controls + "\n.csv", "x,1\n3,y\n", "line 1, column 1", file},
		{"a long line of a click log", "log", clickLine(0, "1") + long + "\n", "line 1", clicks("hash")},
		{"a long label", "log", clickLine(0, long[:1<<19]), "line 1, column 1", clicks("hash")},
		{"controls in a number", "log", clickLine(2, controls), "line 1, column 5", clicks("hash")},
		{"digits of a number", "log", clickLine(2, digits[:1<<19]), "line 1, column 5", clicks("hash")},
		{"digits of an index", "log", clickLine(14, digits[:1<<19]), "line 1, column 29", clicks("index")},
		{"a log with controls in its path", "log" + controls, "x", "line 1", clicks("hash")},
		{"images with controls in their path", "i" + controls, "x", "it ends after 1 bytes", images},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			err := readAll(c.make(path))
			if err == nil {
				t.Fatal("there is no error")
			}
			text := err.Error()
			if !utf8.ValidString(text) ||
				strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) || len(text) > 1000 {
				t.Errorf("the error has %d bytes: %.500q", len(text), text)
			}
			if !strings.Contains(text, "data file ") || !strings.Contains(text, c.want) {
				t.Errorf("the error does not say %q: %.500q", c.want, text)
			}
		})
	}
}

// readAll reads all samples of the data, streamed or not.
func readAll(d sdk.Data, err error) error {
	if err != nil {
		return err
	}
	streamed, ok := d.(sdk.StreamedData)
	if !ok {
		_, err := d.Load()
		return err
	}
	tables := make([]int, 26)
	for i := range tables {
		tables[i] = 10
	}
	d.(sdk.FittedData).Fit(sdk.InputSpec{Features: 13, Tables: tables})
	r, err := streamed.Open()
	for err == nil {
		err = r.Read(&sdk.Batch{}, 1)
	}
	return err
}
