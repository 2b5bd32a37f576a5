package data

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
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

// The samples on the page about data are samples.
func TestSamplesOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/data.md")
	if err != nil {
		t.Fatal(err)
	}
	for language, want := range map[string]int{"json": 4, "csv": 1} {
		blocks := strings.Split(string(page), "\n```"+language+"\n")[1:]
		if len(blocks) != want {
			t.Errorf("the page has %d blocks of %s, want %d", len(blocks), language, want)
		}
		for _, block := range blocks {
			content, _, _ := strings.Cut(block, "```")
			if _, err := load(t, "a."+language, content, func(s *FileSettings) { s.Format = strings.Replace(language, "json", "jsonl", 1) }); err != nil {
				t.Errorf("%s: %v", content, err)
			}
		}
	}
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

// A line that does not end, such as that of /dev/zero, must not fill the memory.
func TestTooLongLine(t *testing.T) {
	text := bytes.Repeat([]byte("0"), (longestLineMiB+1)<<20)
	for _, format := range []string{"jsonl", "csv"} {
		parse, err := FileSettings{Format: format, Header: "no"}.parser()
		if err != nil {
			t.Fatal(err)
		}
		_, err = (&file{path: "a", parse: parse}).read(bytes.NewReader(text))
		if want := "the line is longer than 64 MiB, which is the most that is read"; err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: error is %.200v, want %s", format, err, want)
		}
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

func TestFileWithFeaturesAndSeveralTargets(t *testing.T) {
	for content, c := range map[string]struct {
		want          sdk.Batch
		input, target string // where the second input and the target of the second sample stand
	}{
		"{\"features\": [0.5, -1], \"target\": 2}\n{\"target\": 0, \"features\": [3, 1e-3]}": {
			sdk.Batch{Features: []float32{0.5, -1, 3, 1e-3}, Targets: []int64{2, 0}}, "column 31", "column 12",
		},
		"{\"input\": [7], \"target\": [1, 2]}\n{\"input\": [0, 8], \"target\": [ 3,4 ] }": {
			sdk.Batch{Indices: []int64{7, 0, 8}, Offsets: []int64{0, 1, 3}, Targets: []int64{1, 2, 3, 4}}, "column 15", "column 31",
		},
		"{\"input\": [], \"features\": [4], \"target\": [1]}\n{\"features\": [5], \"input\": [0, 8], \"target\": 3}": {
			sdk.Batch{Indices: []int64{0, 8}, Offsets: []int64{0, 0, 2}, Features: []float32{4, 5}, Targets: []int64{1, 3}}, "column 32", "column 46",
		},
	} {
		samples, err := load(t, "a.jsonl", content)
		if err != nil {
			t.Errorf("%s: %v", content, err)
			continue
		}
		if d := cmp.Diff(c.want, samples.Batch); d != "" {
			t.Errorf("%s: %s", content, d)
		}
		if got, want := samples.Origin(1, 1), "a.jsonl, line 2, "+c.input; got != want {
			t.Errorf("%s: the second input comes from %s, want %s", content, got, want)
		}
		if got, want := samples.Origin(1, -1), "a.jsonl, line 2, "+c.target; got != want {
			t.Errorf("%s: the target comes from %s, want %s", content, got, want)
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
		{"a.jsonl", `{"input": [1], "label": 1}`, `data file a.jsonl, line 1, column 16: field "label" is not known: a sample has "input" or "features" and "target"`},
		{"a.jsonl", `{"input": [1], "input": [1]}`, `data file a.jsonl, line 1, column 16: field "input" occurs twice`},
		{"a.jsonl", `{"target": 1}`, `data file a.jsonl, line 1, column 13: the sample has no field "input" and no field "features"`},
		{"a.jsonl", `{"input": [1]}`, `data file a.jsonl, line 1, column 14: the sample has no field "target"`},
		{"a.jsonl", `{"input": [1`, "data file a.jsonl, line 1, column 13: the line ends inside a sample"},
		{"a.jsonl", `{"input": [1], "target": 1} 5`, "data file a.jsonl, line 1, column 29: there is more on the line than one sample"},
		{"a.jsonl", `{"input": [1 2], "target": 1}`, "data file a.jsonl, line 1, column 14: invalid character '2' after array element"},
		{"a.jsonl", `{"input": [1], "target": []}`, "data file a.jsonl, line 1, column 1: the sample has no targets but must have at least 1"},
		{"a.jsonl", `{"input": [1], "target": [1, -3]}`, "data file a.jsonl, line 1, column 30: -3 is negative; " + rule},
		{"a.jsonl", `{"input": [1], "target": [1, {}]}`, `data file a.jsonl, line 1, column 30: "{" is not an integer; ` + rule},
		{"a.jsonl", "{\"input\": [1], \"target\": 1}\n{\"input\": [1], \"target\": [1, 2]}", "data file a.jsonl, line 2, column 1: the number of targets is 2 but that of the first sample is 1"},
		{"a.jsonl", "{\"input\": [1], \"target\": 1}\n{\"features\": [1], \"target\": 1}", "data file a.jsonl, line 2, column 1: some samples have indices and some have none: all must have them or none"},
		{"a.jsonl", "{\"features\": [1], \"target\": 1}\n{\"features\": [1, 2], \"target\": 1}", "data file a.jsonl, line 2, column 1: the number of features is 2 but that of the first sample is 1"},
		{"a.jsonl", `{"features": [1], "target": [1, 2]}`, "data file a.jsonl, line 1, column 1: a sample of features alone has one target but this one has 2"},
		{"a.jsonl", `{"features": [], "target": 1}`, "data file a.jsonl, line 1, column 1: the sample has no indices and no features"},
		{"a.jsonl", `{"features": [1, 1e39], "target": 1}`, "data file a.jsonl, line 1, column 18: 1e39 is too large for a 32-bit number"},
		{"a.jsonl", `{"features": [1, "NaN"], "target": 1}`, `data file a.jsonl, line 1, column 18: "\"NaN\"" is not a number; features are finite numbers`},
		{"a.jsonl", `{"features": {}, "target": 1}`, "data file a.jsonl, line 1, column 14: { stands where a list of numbers should"},
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
	for _, s := range []string{`{"input":[1,2],"target":3}`, "\n{}\n", `{"input":[1,`, `{"target":1e5}`, "[]", `{"input":{}}`, `"`,
		`{"features":[1.5,-2e3],"target":3}`, `{"input":[1],"target":[1,2]}`, "{\"input\":[],\"features\":[1],\"target\":0}\n{\"input\":[1]}"} {
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
	n := samples.Size()
	if n == 0 || len(samples.Features)%n != 0 || len(samples.Targets)%n != 0 || len(samples.Targets) == 0 {
		t.Fatalf("there are %d samples with %d features and %d targets", n, len(samples.Features), len(samples.Targets))
	}
	for _, v := range samples.Features {
		if v-v != 0 {
			t.Errorf("a feature is %v", v)
		}
	}
	where := func(sample, position int) {
		if !strings.HasPrefix(samples.Origin(sample, position), name+", line ") {
			t.Errorf("sample %d, position %d comes from %q", sample, position, samples.Origin(sample, position))
		}
	}
	for i := range n {
		inputs := len(samples.Features) / n
		if len(samples.Offsets) > 0 {
			inputs = len(samples.Bag(i))
		}
		for j := range inputs {
			where(i, j)
		}
		where(i, -1)
	}
	for _, list := range [][]int64{samples.Indices, samples.Targets} {
		if i := slices.IndexFunc(list, func(v int64) bool { return v < 0 }); i >= 0 {
			t.Errorf("number %d of %v is negative", i, list)
		}
	}
}
