package data

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/psbench/psbench/sdk"
)

func TestCSVErrors(t *testing.T) {
	for _, c := range []struct{ content, columns, target, want string }{
		{"1,x,2", "features", "", `line 1, column 3: "x" is not a number; features are finite numbers`},
		{"1,2,0\n1,2,1.5", "features", "",
			`line 2, column 5: "1.5" is not an integer; indices and targets are integers of 0 or more`},
		{"1,2,0\n1,0", "features", "",
			"line 2, column 1: the number of features is 1 but the first sample has 2"},
		{"1,2\n3,nan", "features", "1", `line 2, column 3: "nan" is not a number; features are finite numbers`},
		{"a,b,label\n1,2,3", "features", "labl",
			`line 1, column 1: setting target is "labl", but no column has that name; did you mean "label"?`},
		{"a,b\n1,2", "features", "class",
			`line 1, column 1: setting target is "class", but no column has that name; the columns are a, b`},
		{"1,2\n", "features", "label",
			`line 1, column 1: the row is no header, so setting target must be a number from 1 to 2, not "label"`},
		{"1,2\n", "features", "3",
			"line 1, column 1: setting target is 3 but must be the name of a column or its number from 1 to 2"},
		{"1,2\n", "features", "0",
			"line 1, column 1: setting target is 0 but must be the name of a column or its number from 1 to 2"},
		{"a,a\n1,2", "features", "a",
			`line 1, column 1: setting target is "a", but several columns have that name: give the number of one`},
		{"1,2\n\"3,4\n5,6\n", "indices", "",
			`line 3, column 5: extraneous or missing " in quoted-field in the row that begins in line 2`},
		{"1,2,3\n4,5", "indices", "3", "line 2, column 1: the row has 2 columns but the target is in column 3"},
	} {
		t.Run(c.content, func(t *testing.T) {
			_, err := load(t, "a.csv", c.content, func(s *FileSettings) { s.Columns, s.Target = c.columns, c.target })
			if want := "data file a.csv, " + c.want; err == nil || err.Error() != want {
				t.Errorf("%q, target %q, gives\n  %v\nwant\n  %s", c.content, c.target, err, want)
			}
		})
	}
	if _, err := load(t, "a.jsonl", "{}", features("x")); err == nil ||
		err.Error() !=
			"data file a.jsonl is read as JSON lines, but these settings are for CSV files: columns, target, header, delimiter, decimal" {
		t.Errorf("columns of JSON lines: %v", err)
	}
	if _, err := load(t, "a.csv", "1,2", func(s *FileSettings) { s.Columns = "numbers" }); err == nil ||
		err.Error() != `setting columns is "numbers" but must be indices or features` {
		t.Errorf("columns of numbers: %v", err)
	}
}

func TestFileErrors(t *testing.T) {
	const rule = "indices and targets are integers of 0 or more"
	for _, c := range []struct{ file, content, want string }{
		{"a.csv", "1,2\n3,4\n5,6,x,8\n", `data file a.csv, line 3, column 5: "x" is not an integer; ` + rule},
		{"a.csv", "1,-2,3", "data file a.csv, line 1, column 3: -2 is negative; " + rule},
		{"a.csv", "-1,-2", "data file a.csv, line 1, column 1: -1 is negative; " + rule},
		{"a.csv", "1,99999999999999999999",
			"data file a.csv, line 1, column 3: 99999999999999999999 is too large for a 64-bit integer"},
		{"a.csv", "1,2,\n", `data file a.csv, line 1, column 5: "" is not an integer; ` + rule},
		{"a.csv", "1,2\n\"3,4\n", `data file a.csv, line 2, column 6: extraneous or missing " in quoted-field`},
		{"a.csv", "1;2;3\n1;2;3\n",
			`data file a.csv, line 1, column 1: the row has one column, "1;2;3": set delimiter to ; if that separates the columns`},
		{"a.csv", "0,5;1\n", `data file a.csv, line 1, column 3: "5;1" is not an integer; ` + rule +
			"; set delimiter to ; if that separates the columns"},
		{"a.jsonl", `{"input": [+1, .5], "target": 2}`,
			`data file a.jsonl, line 1, column 16: "0.5" is not an integer; ` + rule},
		{"a.jsonl", `{"features": [1, -Infinity], "target": 2}`,
			`data file a.jsonl, line 1, column 18: "-Infinity" is not a finite number`},
		{"a.jsonl", `{"features": [.5, nan], "target": 2}`,
			`data file a.jsonl, line 1, column 19: "nan" is not a finite number`},
		{"a.csv", "", "data file a.csv holds no samples"},
		{"a.csv", "a,b\n", "data file a.csv holds no samples"},
		{"a.jsonl", "\n \n", "data file a.jsonl holds no samples"},
		{"a.jsonl", "\n[1]",
			`data file a.jsonl, line 2, column 1: [ stands where a sample, {"input": [...], "target": ...} should`},
		{"a.jsonl", `{"input": [1, 2.5], "target": 1}`,
			`data file a.jsonl, line 1, column 15: "2.5" is not an integer; ` + rule},
		{"a.jsonl", `{"input": [1, -2], "target": 1}`, "data file a.jsonl, line 1, column 15: -2 is negative; " + rule},
		{"a.jsonl", `{"input": ["a"], "target": 1}`,
			`data file a.jsonl, line 1, column 12: "\"a\"" is not an integer; ` + rule},
		{"a.jsonl", `{"input": 7, "target": 1}`,
			"data file a.jsonl, line 1, column 11: 7 stands where a list of indices should"},
		{"a.jsonl", `{"input": [1], "label": 1}`,
			`data file a.jsonl, line 1, column 16: field "label" is not known: a sample has "input" or "features" and "target"`},
		{"a.jsonl", `{"input": [1], "input": [1]}`, `data file a.jsonl, line 1, column 16: field "input" occurs twice`},
		{"a.jsonl", `{"target": 1}`,
			`data file a.jsonl, line 1, column 13: the sample has no field "input" and no field "features"`},
		{"a.jsonl", `{"input": [1]}`, `data file a.jsonl, line 1, column 14: the sample has no field "target"`},
		{"a.jsonl", `{"input": [1`, "data file a.jsonl, line 1, column 13: the line ends inside a sample"},
		{"a.jsonl", `{"input": [1], "target": 1} 5`,
			"data file a.jsonl, line 1, column 29: the line has more than one sample"},
		{"a.jsonl", `{"input": [1 2], "target": 1}`,
			"data file a.jsonl, line 1, column 14: invalid character '2' after array element"},
		{"a.jsonl", `{"input": [1], "target": []}`,
			"data file a.jsonl, line 1, column 1: the sample has no targets but must have at least 1"},
		{"a.jsonl", `{"input": [1], "target": [1, -3]}`,
			"data file a.jsonl, line 1, column 30: -3 is negative; " + rule},
		{"a.jsonl", `{"input": [1], "target": [1, {}]}`,
			`data file a.jsonl, line 1, column 30: "{" is not an integer; ` + rule},
		{"a.jsonl", "{\"input\": [1], \"target\": 1}\n{\"input\": [1], \"target\": [1, 2]}",
			"data file a.jsonl, line 2, column 1: the number of targets is 2 but the first sample has 1"},
		{"a.jsonl", "{\"input\": [1], \"target\": 1}\n{\"features\": [1], \"target\": 1}",
			"data file a.jsonl, line 2, column 1: some samples have indices and some have none: all must have them or none"},
		{"a.jsonl", "{\"features\": [1], \"target\": 1}\n{\"features\": [1, 2], \"target\": 1}",
			"data file a.jsonl, line 2, column 1: the number of features is 2 but the first sample has 1"},
		{"a.jsonl", `{"features": [1], "target": [1, 2]}`,
			"data file a.jsonl, line 1, column 1: a sample of features alone has one target but this one has 2"},
		{"a.jsonl", `{"features": [], "target": 1}`,
			"data file a.jsonl, line 1, column 1: the sample has no indices and no features"},
		{"a.jsonl", `{"features": [1, 1e39], "target": 1}`,
			"data file a.jsonl, line 1, column 18: 1e39 is too large for a 32-bit number"},
		{"a.jsonl", `{"features": [1, "NaN"], "target": 1}`,
			`data file a.jsonl, line 1, column 18: "\"NaN\"" is not a number; features are finite numbers`},
		{"a.jsonl", `{"features": {}, "target": 1}`,
			"data file a.jsonl, line 1, column 14: { stands where a list of numbers should"},
		{"a.txt", "1", "the name of data file a.txt does not show its format: set format to jsonl, csv or tsv"},
	} {
		t.Run(c.file, func(t *testing.T) {
			if _, err := load(t, c.file, c.content); err == nil || err.Error() != c.want {
				t.Errorf("%s with %q gives\n  %v\nwant\n  %s", c.file, c.content, err, c.want)
			}
		})
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
		folder:          "a.csv holds no files",
		folder + "/b.x": "b.x does not exist",
		"file_test.go":  "does not show its format",
		"none/a.jsonl":  "data file none/a.jsonl does not exist",
	} {
		t.Run(path, func(t *testing.T) {
			s := DefaultFile
			s.Path = path
			d, err := NewFile(s, sdk.DataEnv{})
			if err == nil {
				_, err = d.Load()
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("path %q gives %v, want an error with %q", path, err, want)
			}
		})
	}
	if _, err := NewFile(FileSettings{Path: "a", Format: "xml", Header: "auto"}, sdk.DataEnv{}); err == nil {
		t.Error("format xml was accepted")
	}
}
