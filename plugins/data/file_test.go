package data

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/sdk"
)

func load(t *testing.T, name, content string, change ...func(*FileSettings)) (*sdk.Samples, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	s := DefaultFile
	s.Path = name
	for _, c := range change {
		c(&s)
	}
	d, err := NewFile(s, sdk.DataEnv{})
	if err != nil {
		return nil, err
	}
	return d.Load()
}

func header(value string) func(*FileSettings) {
	return func(s *FileSettings) { s.Header = value }
}

func TestFile(t *testing.T) {
	want := sdk.Batch{}
	want.Append([]int64{3, 1, 4}, 2)
	want.Append([]int64{1}, 0)
	for name, c := range map[string]struct{ file, content string }{
		"json lines":    {"a.jsonl", "{\"input\": [3, 1, 4], \"target\": 2}\n\n  \n{\"target\":0,\"input\":[1]}"},
		"csv":           {"a.csv", "3, 1 ,4,2\r\n\n\"1\",0\n"},
		"with a header": {"A.CSV", "a,b,c,target\n3,1,4,2\n1,0\n"},
		"with a mark":   {"a.csv", "\uFEFF3,1,4,2\n1,0"},
	} {
		t.Run(name, func(t *testing.T) {
			samples, err := load(t, c.file, c.content)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, samples.Batch); diff != "" {
				t.Errorf("samples differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFileOrigin(t *testing.T) {
	for name, c := range map[string]struct{ content, index, target string }{
		"a.jsonl": {"\n{\"input\": [3, 1, 14], \"target\": 2}", "a.jsonl, line 2, column 18", "a.jsonl, line 2, column 33"},
		"a.csv":   {"h,h\n3,1, 14,2", "a.csv, line 2, column 6", "a.csv, line 2, column 9"},
	} {
		samples, err := load(t, name, c.content)
		if err != nil {
			t.Fatal(err)
		}
		if got := samples.Origin(0, 2); got != c.index {
			t.Errorf("the third index comes from %s, want %s", got, c.index)
		}
		if got := samples.Origin(0, -1); got != c.target {
			t.Errorf("the target comes from %s, want %s", got, c.target)
		}
	}
}

func TestFileErrors(t *testing.T) {
	const rule = "indices and targets are integers of 0 or more"
	for _, c := range []struct{ file, content, want string }{
		{"a.csv", "1,2\n3,4\n5,6,x,8\n", `data file a.csv, line 3, column 5: "x" is not an integer; ` + rule},
		{"a.csv", "1,-2,3", "data file a.csv, line 1, column 3: -2 is negative; " + rule},
		{"a.csv", "-1,-2", "data file a.csv, line 1, column 1: -1 is negative; " + rule},
		{"a.csv", "1,99999999999999999999", "data file a.csv, line 1, column 3: 99999999999999999999 is too large for a 64-bit integer"},
		{"a.csv", "1,2,\n", `data file a.csv, line 1, column 5: "" is not an integer; ` + rule},
		{"a.csv", "1,2\n\"3,4\n", `data file a.csv, line 2, column 6: extraneous or missing " in quoted-field`},
		{"a.csv", "1;2;3\n1;2;3\n", `data file a.csv, line 2, column 1: "1;2;3" is not an integer; ` + rule},
		{"a.csv", "", "data file a.csv holds no samples"},
		{"a.csv", "a,b\n", "data file a.csv holds no samples"},
		{"a.jsonl", "\n \n", "data file a.jsonl holds no samples"},
		{"a.jsonl", "\n[1]", `data file a.jsonl, line 2, column 1: [ stands where a sample, {"input": [...], "target": ...} should`},
		{"a.jsonl", `{"input": [1, 2.5], "target": 1}`, `data file a.jsonl, line 1, column 15: "2.5" is not an integer; ` + rule},
		{"a.jsonl", `{"input": [1, -2], "target": 1}`, "data file a.jsonl, line 1, column 15: -2 is negative; " + rule},
		{"a.jsonl", `{"input": ["a"], "target": 1}`, `data file a.jsonl, line 1, column 12: "\"a\"" is not an integer; ` + rule},
		{"a.jsonl", `{"input": 7, "target": 1}`, "data file a.jsonl, line 1, column 11: 7 stands where a list of indices should"},
		{"a.jsonl", `{"input": [1], "label": 1}`, `data file a.jsonl, line 1, column 16: field "label" is not known: a sample has "input" and "target"`},
		{"a.jsonl", `{"input": [1], "input": [1]}`, `data file a.jsonl, line 1, column 16: field "input" occurs twice`},
		{"a.jsonl", `{"target": 1}`, `data file a.jsonl, line 1, column 13: the sample has no field "input"`},
		{"a.jsonl", `{"input": [1]}`, `data file a.jsonl, line 1, column 14: the sample has no field "target"`},
		{"a.jsonl", `{"input": [1`, "data file a.jsonl, line 1, column 13: the line ends inside a sample"},
		{"a.jsonl", `{"input": [1], "target": 1} 5`, "data file a.jsonl, line 1, column 29: there is more on the line than one sample"},
		{"a.jsonl", `{"input": [1 2], "target": 1}`, "data file a.jsonl, line 1, column 14: invalid character '2' after array element"},
		{"a.txt", "1", "the name of data file a.txt does not tell its format: set format to jsonl or csv"},
	} {
		if _, err := load(t, c.file, c.content); err == nil || err.Error() != c.want {
			t.Errorf("%s with %q gives\n  %v\nwant\n  %s", c.file, c.content, err, c.want)
		}
	}
}

func TestHeaderSetting(t *testing.T) {
	if s, err := load(t, "a.csv", "1,2\n3,4", header("yes")); err != nil || s.Size() != 1 {
		t.Errorf("with a header of numbers there are %v samples and %v, want 1", s, err)
	}
	if _, err := load(t, "a.csv", "a,b\n3,4", header("no")); err == nil {
		t.Error("a first row of names was taken for a sample")
	}
	if _, err := load(t, "a.csv", "3,4", header("maybe")); err == nil {
		t.Error("header maybe was accepted")
	}
}

func TestFileThatIsNotThere(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a.csv")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"":              "setting path is empty",
		folder:          "is a folder",
		folder + "/b.x": "b.x does not exist",
		"file_test.go":  "does not tell its format",
		"none/a.jsonl":  "data file none/a.jsonl does not exist",
	} {
		s := DefaultFile
		s.Path = path
		d, err := NewFile(s, sdk.DataEnv{})
		if err == nil {
			_, err = d.Load()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("path %q gives %v, want an error with %q", path, err, want)
		}
	}
	if _, err := NewFile(FileSettings{Path: "a", Format: "xml", Header: "auto"}, sdk.DataEnv{}); err == nil {
		t.Error("format xml was accepted")
	}
}

func FuzzCSV(f *testing.F) {
	for _, s := range []string{"1,2\n3,4,5\n", "a,b\n1,2", "1,\"2\n3\",4", "\"", "\uFEFF1,2", "1,-2", ",\n", "\xff,1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, content string) { checkParse(t, "a.csv", content) })
}

func FuzzJSONLines(f *testing.F) {
	for _, s := range []string{`{"input":[1,2],"target":3}`, "\n{}\n", `{"input":[1,`, `{"target":1e5}`, "[]", `{"input":{}}`, `"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, content string) { checkParse(t, "a.jsonl", content) })
}

// checkParse asks of any content that it either yields well-formed samples with
// origins or an error that says where.
func checkParse(t *testing.T, name, content string) {
	s := DefaultFile
	s.Path = name
	d, err := NewFile(s, sdk.DataEnv{})
	if err != nil {
		t.Fatal(err)
	}
	samples, err := d.(*file).read(strings.NewReader(content))
	if err != nil {
		if !strings.Contains(err.Error(), "line") && !strings.Contains(err.Error(), "holds no samples") {
			t.Errorf("the error does not say where: %v", err)
		}
		return
	}
	for i := range samples.Size() {
		for j, index := range samples.Bag(i) {
			if index < 0 || !strings.HasPrefix(samples.Origin(i, j), name+", line ") {
				t.Errorf("sample %d holds index %d from %q", i, index, samples.Origin(i, j))
			}
		}
		if samples.Targets[i] < 0 || !strings.HasPrefix(samples.Origin(i, -1), name+", line ") {
			t.Errorf("sample %d has target %d from %q", i, samples.Targets[i], samples.Origin(i, -1))
		}
	}
}
