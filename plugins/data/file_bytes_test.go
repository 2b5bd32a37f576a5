package data

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/sdk"
)

// Columns may have any separator, and a decimal comma is possible.
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
			got, err := load(t, c.file, c.content, features(""),
				func(s *FileSettings) { s.Delimiter, s.Decimal = c.delimiter, c.decimal })
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got.Batch); d != "" {
				t.Error(d)
			}
		})
	}
	for _, c := range []struct{ delimiter, decimal, content, want string }{
		{"auto", ".", "a\tb\n1\t2\n",
			`data file a.csv, line 1, column 1: the row has one column, "a\tb": set delimiter to tab if that separates the columns`},
		{";", ".", "1,2\n",
			`data file a.csv, line 1, column 1: the row has one column, "1,2": set delimiter to , if that separates the columns`},
		{";", ".", "0;1;0\n1;0,5;0\n",
			`data file a.csv, line 2, column 3: "0,5" is not a number; features are finite numbers; ` + commaReason +
				"; or set decimal to , if that begins the decimals"},
		{";", ",", "1.000;0\n",
			`data file a.csv, line 1, column 1: "1.000" has a point but setting decimal is a comma, so the point could separate thousands`},
		{"auto", ".", "\"1,000\",0\n",
			`data file a.csv, line 1, column 1: "1,000" is not a number; features are finite numbers; ` + commaReason},
		{"auto", ",", "1\n",
			`settings delimiter and decimal are both ",": set delimiter to what separates the columns, as ; or tab`},
		{"::", ".", "1\n",
			`setting delimiter is "::" but must be auto, tab, or one character that no number has, as ;`},
		{".", ",", "1\n", `setting delimiter is "." but must be auto, tab, or one character that no number has, as ;`},
		{"auto", "", "1\n", `setting decimal is "" but must be . or ,`},
	} {
		if _, err := load(t, "a.csv", c.content, features(""),
			func(s *FileSettings) { s.Delimiter, s.Decimal = c.delimiter, c.decimal }); err == nil ||
			err.Error() != c.want {
			t.Errorf("%q with delimiter %q and decimal %q gives\n  %v\nwant\n  %s", c.content, c.delimiter, c.decimal,
				err, c.want)
		}
	}
}

const commaReason = "its comma could separate thousands or decimals: write a point before decimals and nothing between thousands"

// bzip2OfTabs are the rows of TestDelimiters, compressed by bzip2.
const bzip2OfTabs = "\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\x31\x47\x79\xf1\x00\x00\x0a\xd9\x80\x00\x30\x00\x03\x7a\x00\x02\x00\x00\x70\x20\x00\x31\x00\xd0\x00\xd4\x7a\x8d\x1e\xa7\x92\x24\x3a\xe5\xc8\xac\x97\x08\xc9\xb6\x76\x3e\x2e\xe4\x8a\x70\xa1\x20\x62\x8e\xf3\xe2"

// A folder is read like one file. Marker files of a job are left out, and empty files are allowed.
func TestFolderOfFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("t.csv/inner", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"_SUCCESS": "", "_committed_77": "x", ".part-00000.csv.crc": "\x00", "part-00000.csv": "a,b,t\n1,2,0\n",
		"part-00001.csv": "", "part-00002.csv": "a,b,t\n3,4,1\n\n",
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
