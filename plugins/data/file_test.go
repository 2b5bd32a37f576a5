package data

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/plugins/data/internal/datafile"
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
	for language, want := range map[string]int{"json": 4, "csv": 2} {
		blocks := strings.Split(string(page), "\n```"+language+"\n")[1:]
		if len(blocks) != want {
			t.Errorf("the page has %d blocks of %s, want %d", len(blocks), language, want)
		}
		for _, block := range blocks {
			content, _, _ := strings.Cut(block, "```")
			set := func(s *FileSettings) {
				s.Format = strings.Replace(language, "json", "jsonl", 1)
				if strings.Contains(content, "kind") {
					s.Columns, s.Target = "features", "kind"
				}
			}
			if _, err := load(t, "a."+language, content, set); err != nil {
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
		"json lines":     {"a.jsonl", "{\"input\": [3, 1, 4], \"target\": 2}\n\n  \n{\"target\":0,\"input\":[1]}"},
		"csv":            {"a.csv", "3, 1 ,4,2\r\n\n\"1\",0\n"},
		"with a header":  {"A.CSV", "a,b,c,target\n3,1,4,2\n1,0\n"},
		"floats":         {"a.csv", "3.0,+1,4e0,2.\n1,0.0\n"},
		"floats of json": {"a.jsonl", "{\"input\": [3.0, 1e0, 40e-1], \"target\": 2.0}\n{\"target\": false, \"input\": [true]}"},
		"no JSON":        {"a.jsonl", "{\"input\": [+3, True, 4.], \"target\": 2}\n{\"input\": [1_0e-1], \"target\": False}"},
		"Python's truth": {"a.csv", "3,True,4,2\nTrue,False"},
		"with a mark":    {"a.csv", "\uFEFF3,1,4,2\n1,0"},
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
		s := DefaultFile
		s.Format = format
		in := datafile.InMemory("a", text)
		parse, err := s.parser(in)
		if err != nil {
			t.Fatal(err)
		}
		err = parsedFile{in, parse}.read(&fileSamples{files: []datafile.File{in}})
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

func features(target string) func(*FileSettings) {
	return func(s *FileSettings) { s.Columns, s.Target = "features", target }
}

func TestCSVOfNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		content, target string
		features        []float32
		targets         []int64
		second, class   string // where the second number and the target of the second sample stand
	}{
		"last":                    {"0.5,-1,2\n3,1e-3,0\n", "", []float32{0.5, -1, 3, 1e-3}, []int64{2, 0}, "line 2, column 3", "line 2, column 8"},
		"by name":                 {"x, label ,y\n1,2,3\n4, 5,6\n", "label", []float32{1, 3, 4, 6}, []int64{2, 5}, "line 3, column 6", "line 3, column 4"},
		"by number":               {"2,0.5,1\n0,3,1", "1", []float32{0.5, 1, 3, 1}, []int64{2, 0}, "line 2, column 5", "line 2, column 1"},
		"a name that is a number": {"2015,2016,sum\n1,7,2\n3,8,4", "2016", []float32{1, 2, 3, 4}, []int64{7, 8}, "line 3, column 5", "line 3, column 3"},
	} {
		change := []func(*FileSettings){features(c.target)}
		if name == "a name that is a number" {
			change = append(change, header("yes"))
		}
		samples, err := load(t, "a.csv", c.content, change...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(sdk.Batch{Features: c.features, Targets: c.targets}, samples.Batch); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if second, class := samples.Origin(1, 1), samples.Origin(1, -1); second != "a.csv, "+c.second || class != "a.csv, "+c.class {
			t.Errorf("%s: the second sample comes from %s and %s, want %s and %s", name, second, class, c.second, c.class)
		}
	}
}

// Every k-th sample is held out, of either format, and keeps its place.
func TestFileHoldsOut(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		change  func(*FileSettings)
	}{
		"a.csv":   {"h,i,t\n0,1,0\n2,3,1\n4,5,0\n6,7,1\n8,9,0\n", features("")},
		"a.jsonl": {strings.Repeat("{\"features\":[0,1],\"target\":0}\n", 5), func(*FileSettings) {}},
	} {
		samples, err := load(t, name, c.content, c.change, func(s *FileSettings) { s.HeldOut = 0.5 })
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if samples.Size() != 3 || samples.HeldOut == nil || samples.HeldOut.Size() != 2 {
			t.Errorf("%s: %d samples are trained on and %v held out, want 3 and 2", name, samples.Size(), samples.HeldOut)
			continue
		}
		if name == "a.csv" && (!slices.Equal(samples.HeldOut.Features, []float32{2, 3, 6, 7}) || !slices.Equal(samples.HeldOut.Targets, []int64{1, 1})) {
			t.Errorf("%s: held out are %+v", name, samples.HeldOut.Batch)
		}
		first := map[string]int{"a.csv": 2, "a.jsonl": 1}[name]
		for i, line := range []int{0, 2, 4} {
			if got := samples.Origin(i, 0); !strings.HasPrefix(got, fmt.Sprintf("%s, line %d,", name, first+line)) {
				t.Errorf("sample %d comes from %s", i, got)
			}
		}
		if got := samples.HeldOut.Origin(1, -1); !strings.HasPrefix(got, fmt.Sprintf("%s, line %d,", name, first+3)) {
			t.Errorf("the second sample held out comes from %s", got)
		}
	}
	if _, err := load(t, "a.csv", "1,2", func(s *FileSettings) { s.HeldOut = 0.6 }); err == nil {
		t.Error("held_out 0.6 was accepted")
	}
}

// Columns may be separated by anything, and decimals begin with a comma.
func TestDelimiters(t *testing.T) {
	want := sdk.Batch{Features: []float32{0.5, -1, 3, 1e-3}, Targets: []int64{2, 0}}
	for name, c := range map[string]struct{ file, delimiter, decimal, content string }{
		"semicolons":                   {"a.csv", ";", ".", "x;y;z\n0.5;-1;2\n3;1e-3;0\n"},
		"empty rows":                   {"a.csv", ";", ".", ";;\nx;y;z\n0.5;-1;2\n ; ;\n3;1e-3;0\n;;\r\n;\n"},
		"empty rows of quotes":         {"a.csv", "auto", ".", "x,y,z\n0.5,-1,2\n3,1e-3,0\n\"\",\"\",\"\"\n"},
		"empty rows of tabs":           {"a.tsv", "auto", ".", "x\ty\tz\n0.5\t-1\t2\n3\t1e-3\t0\n\t\t\n"},
		"semicolons and decimal comma": {"a.csv", ";", ",", "x;y;z\r\n0,5;-1;2\r\n3,0;1e-3;0,0\r\n\r\n"},
		"tabs by the name":             {"a.tsv", "auto", ".", "x\ty\tz\n0.5\t-1\t2\n3\t 1e-3\t0\n"},
		"tabs, compressed":             {"a.TSV.bz2", "auto", ".", bzip2OfTabs},
		"a tab by its name":            {"a.csv", "tab", ",", "0,5\t-1\t2\n3\t1e-3\t0\n"},
		"a tab as it is":               {"a.csv", "\t", ".", "0.5\t-1\t2\n3\t1e-3\t0\n"},
		"said by the first line":       {"a.csv", ";", ",", "sep=;\r\nx;y;z\r\n0,5;-1;2\r\n3;1e-3;0"},
		"said and not set":             {"a.csv", "auto", ".", "sep=|\nx|y|z\n0.5|-1|2\n3|1e-3|0"},
		"said of a comma":              {"a.csv", "auto", ".", "\uFEFFsep=,\nx,y,z\n0.5,-1,2\n3,1e-3,0"},
		"bars":                         {"a.csv", "|", ".", "0.5|-1|2\n3|1e-3|0\n\n   \n"},
		"spaces":                       {"a.csv", " ", ".", " 0.5  -1 2 \n3 1e-3   0\n"},
		"quoted decimal commas":        {"a.csv", ";", ",", "\"0,5\";\"-1\";2\n3;\"0,001\";0"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := load(t, c.file, c.content, features(""), func(s *FileSettings) { s.Delimiter, s.Decimal = c.delimiter, c.decimal })
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got.Batch); d != "" {
				t.Error(d)
			}
		})
	}
	for _, c := range []struct{ delimiter, decimal, content, want string }{
		{"auto", ".", "a\tb\n1\t2\n", `data file a.csv, line 1, column 1: the row has one column, "a\tb": set delimiter to tab if that separates the columns`},
		{";", ".", "1,2\n", `data file a.csv, line 1, column 1: the row has one column, "1,2": set delimiter to , if that separates the columns`},
		{";", ".", "0;1;0\n1;0,5;0\n", `data file a.csv, line 2, column 3: "0,5" is not a number; features are finite numbers; ` + commaReason + "; or set decimal to , if that begins the decimals"},
		{";", ",", "1.000;0\n", `data file a.csv, line 1, column 1: "1.000" has a point but setting decimal is a comma, so the point could separate thousands`},
		{"auto", ".", "\"1,000\",0\n", `data file a.csv, line 1, column 1: "1,000" is not a number; features are finite numbers; ` + commaReason},
		{"auto", ",", "1\n", `settings delimiter and decimal are both ",": set delimiter to what separates the columns, as ; or tab`},
		{"::", ".", "1\n", `setting delimiter is "::" but must be auto, tab, or one character that no number has, as ;`},
		{".", ",", "1\n", `setting delimiter is "." but must be auto, tab, or one character that no number has, as ;`},
		{"auto", "", "1\n", `setting decimal is "" but must be . or ,`},
	} {
		if _, err := load(t, "a.csv", c.content, features(""), func(s *FileSettings) { s.Delimiter, s.Decimal = c.delimiter, c.decimal }); err == nil || err.Error() != c.want {
			t.Errorf("%q with delimiter %q and decimal %q gives\n  %v\nwant\n  %s", c.content, c.delimiter, c.decimal, err, c.want)
		}
	}
}

const commaReason = "its comma could separate thousands or decimals: write a point before decimals and nothing between thousands"

// bzip2OfTabs is what bzip2 makes of the rows of TestDelimiters.
const bzip2OfTabs = "\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\x31\x47\x79\xf1\x00\x00\x0a\xd9\x80\x00\x30\x00\x03\x7a\x00\x02\x00\x00\x70\x20\x00\x31\x00\xd0\x00\xd4\x7a\x8d\x1e\xa7\x92\x24\x3a\xe5\xc8\xac\x97\x08\xc9\xb6\x76\x3e\x2e\xe4\x8a\x70\xa1\x20\x62\x8e\xf3\xe2"

// A folder is read as one file, without what marks a job, and with files that hold nothing.
func TestFolderOfFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("t.csv/inner", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"_SUCCESS": "", "_committed_77": "x", ".part-00000.csv.crc": "\x00", "part-00000.csv": "a,b,t\n1,2,0\n", "part-00001.csv": "", "part-00002.csv": "a,b,t\n3,4,1\n\n",
	} {
		if err := os.WriteFile("t.csv/"+name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := DefaultFile
	s.Path, s.Columns = "t.csv", "features"
	d, err := NewFile(s, sdk.DataEnv{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Load()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sdk.Batch{Features: []float32{1, 2, 3, 4}, Targets: []int64{0, 1}}, got.Batch); diff != "" {
		t.Error(diff)
	}
	if where := got.Origin(1, 0); where != "t.csv/part-00002.csv, line 2, column 1" {
		t.Errorf("the second sample comes from %s", where)
	}
}

func TestCSVErrors(t *testing.T) {
	for _, c := range []struct{ content, columns, target, want string }{
		{"1,x,2", "features", "", `line 1, column 3: "x" is not a number; features are finite numbers`},
		{"1,2,0\n1,2,1.5", "features", "", `line 2, column 5: "1.5" is not an integer; indices and targets are integers of 0 or more`},
		{"1,2,0\n1,0", "features", "", "line 2, column 1: the number of features is 1 but that of the first sample is 2"},
		{"1,2\n3,nan", "features", "1", `line 2, column 3: "nan" is not a number; features are finite numbers`},
		{"a,b,label\n1,2,3", "features", "labl", `line 1, column 1: no column is named "labl", which setting target is; did you mean "label"?`},
		{"a,b\n1,2", "features", "class", `line 1, column 1: no column is named "class", which setting target is; the columns are a, b`},
		{"1,2\n", "features", "label", `line 1, column 1: the row is no header, so setting target must be a number from 1 to 2, not "label"`},
		{"1,2\n", "features", "3", "line 1, column 1: setting target is 3 but must be the name of a column or its number from 1 to 2"},
		{"1,2\n", "features", "0", "line 1, column 1: setting target is 0 but must be the name of a column or its number from 1 to 2"},
		{"a,a\n1,2", "features", "a", `line 1, column 1: several columns are named "a", which setting target is: give the number of one`},
		{"1,2\n\"3,4\n5,6\n", "indices", "", `line 3, column 5: extraneous or missing " in quoted-field in the row that begins in line 2`},
		{"1,2,3\n4,5", "indices", "3", "line 2, column 1: the row has 2 columns but the target is in column 3"},
	} {
		_, err := load(t, "a.csv", c.content, func(s *FileSettings) { s.Columns, s.Target = c.columns, c.target })
		if want := "data file a.csv, " + c.want; err == nil || err.Error() != want {
			t.Errorf("%q, target %q, gives\n  %v\nwant\n  %s", c.content, c.target, err, want)
		}
	}
	if _, err := load(t, "a.jsonl", "{}", features("x")); err == nil || err.Error() != "settings columns, target, header, delimiter and decimal are for CSV files, but data file a.jsonl is read as JSON lines" {
		t.Errorf("columns of JSON lines: %v", err)
	}
	if _, err := load(t, "a.csv", "1,2", func(s *FileSettings) { s.Columns = "numbers" }); err == nil || err.Error() != `setting columns is "numbers" but must be indices or features` {
		t.Errorf("columns of numbers: %v", err)
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
		{"a.csv", "1;2;3\n1;2;3\n", `data file a.csv, line 1, column 1: the row has one column, "1;2;3": set delimiter to ; if that separates the columns`},
		{"a.csv", "0,5;1\n", `data file a.csv, line 1, column 3: "5;1" is not an integer; ` + rule + "; set delimiter to ; if that separates the columns"},
		{"a.jsonl", `{"input": [+1, .5], "target": 2}`, `data file a.jsonl, line 1, column 16: "0.5" is not an integer; ` + rule},
		{"a.jsonl", `{"features": [1, -Infinity], "target": 2}`, `data file a.jsonl, line 1, column 18: "-Infinity" is not a finite number`},
		{"a.jsonl", `{"features": [.5, nan], "target": 2}`, `data file a.jsonl, line 1, column 19: "nan" is not a finite number`},
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
		{"a.txt", "1", "the name of data file a.txt does not tell its format: set format to jsonl, csv or tsv"},
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
		folder:          "a.csv holds no files",
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
	f.Fuzz(func(t *testing.T, content string) {
		checkParse(t, "a.csv", content)
		checkParse(t, "a.csv", content, features("1"), func(s *FileSettings) { s.HeldOut = 0.5 })
	})
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
func checkParse(t *testing.T, name, content string, change ...func(*FileSettings)) {
	s := DefaultFile
	s.Path = name
	for _, c := range change {
		c(&s)
	}
	d, err := NewFile(s, sdk.DataEnv{})
	if err != nil {
		t.Fatal(err)
	}
	d.(*file).files[0].File = datafile.InMemory(name, []byte(content))
	samples, err := d.Load()
	if err != nil {
		if !strings.HasPrefix(err.Error(), "data file "+name+", line ") && !strings.HasPrefix(err.Error(), "data file "+name+": ") && !strings.Contains(err.Error(), "holds no samples") {
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
