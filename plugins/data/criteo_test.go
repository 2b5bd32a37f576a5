package data

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/psbench/psbench/sdk"
)

// clickInputs describes a model that accepts a click log. Each of its tables has the given number of rows.
func clickInputs(rows int) sdk.InputSpec {
	in := sdk.InputSpec{Features: 13, Classes: 2, Tables: make([]int, 26)}
	for k := range in.Tables {
		in.Tables[k] = rows
	}
	return in
}

// readClicks reads all training samples, like a host in its first pass, and then the held-out samples.
func readClicks(s CriteoSettings,
	in sdk.InputSpec) (trained sdk.Batch, held *sdk.Samples, facts map[string]string, err error) {
	d, err := NewCriteo(s, sdk.DataEnv{})
	if err != nil {
		return trained, nil, nil, err
	}
	d.(sdk.FittedData).Fit(in)
	r, err := d.(sdk.StreamedData).Open()
	if err != nil {
		return trained, nil, nil, err
	}
	var b sdk.Batch
	for err == nil {
		if err = r.Read(&b, 64); err == nil {
			trained.Features, trained.Targets = append(trained.Features, b.Features...), append(trained.Targets,
				b.Targets...)
		}
	}
	if closed := r.Close(); !errors.Is(err, io.EOF) || closed != nil {
		return trained, nil, nil, errors.Join(err, closed)
	}
	samples, err := d.Load()
	if err != nil {
		return trained, nil, nil, err
	}
	return trained, samples.HeldOut, d.(sdk.Describer).Facts(), nil
}

// clickLine returns a line in which one column is replaced. Column 0 is the label.
func clickLine(column int, text string) string {
	fields := append(append([]string{"1"},
		strings.Split(strings.Repeat("2,", 13)+strings.Repeat("7,", 26), ",")[:39]...), "")
	fields[column] = text
	return strings.Join(fields[:40], "\t") + "\n"
}

func TestCriteoErrors(t *testing.T) {
	good := clickLine(0, "1")
	packed := func(form string, text string) string {
		var out bytes.Buffer
		var w io.WriteCloser = gzip.NewWriter(&out)
		if form == "zstd" {
			w, _ = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<10))
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	cut := func(s string, bytes int) string { return s[:len(s)-bytes] }
	index := func(s *CriteoSettings) { s.Categories = "index" }
	most := func(n int) func(*CriteoSettings) { return func(s *CriteoSettings) { s.MaxBadLines = n } }
	for _, c := range []struct {
		content string
		change  func(*CriteoSettings)
		want    string
	}{
		{good + clickLine(0, "2"), nil, `data file log, line 2, column 1: the label is "2" but must be 0 or 1`},
		{clickLine(0, ""), nil, `data file log, line 1, column 1: the label is "" but must be 0 or 1`},
		{clickLine(0, strings.Repeat("x", 100)), nil,
			`data file log, line 1, column 1: the label is "` + strings.Repeat("x", 100) + `" but must be 0 or 1`},
		{clickLine(2, "1x"), nil,
			`data file log, line 1, column 5: number 2 is "1x" but must be a finite number or empty`},
		{clickLine(13, "-"), nil,
			`data file log, line 1, column 27: number 13 is "-" but must be a finite number or empty`},
		{clickLine(1, "nan"), nil,
			`data file log, line 1, column 3: number 1 is "nan" but must be a finite number or empty`},
		{clickLine(1, "1e39"), nil,
			"data file log, line 1, column 3: number 1 is 1e39, which is too large for a 32-bit number"},
		{strings.ReplaceAll(good, "\t", ";"), nil,
			"data file log, line 1, column 81: the number of columns is 1 but must be 40: a label, 13 numbers and 26 categories; set delimiter to ; if that separates them"},
		{good + "1\t2\t3\n", nil,
			"data file log, line 2, column 7: the number of columns is 3 but must be 40: a label, 13 numbers and 26 categories"},
		{clickLine(39, "a\tb"), nil,
			"data file log, line 1, column 81: the number of columns is 41 but must be 40: a label, 13 numbers and 26 categories"},
		{strings.ReplaceAll(good, "\t", " "), nil,
			"data file log, line 1, column 81: the number of columns is 1 but must be 40: a label, 13 numbers and 26 categories"},
		{good, func(s *CriteoSettings) { s.Format = "csv" },
			"data file log, line 1, column 81: the number of columns is 1 but must be 40: a label, 13 numbers and 26 categories"},
		{clickLine(14, "10"), index,
			"data file log, line 1, column 29: category 1 is 10 but its table has the rows 0 to 9"},
		{clickLine(39, "99999999999999999999"), index,
			"data file log, line 1, column 79: category 26 is 99999999999999999999 but its table has the rows 0 to 9"},
		{clickLine(39, "1.5"), index,
			`data file log, line 1, column 79: category 26 is "1.5" but must be a row of its table, 0 to 9`},
		{clickLine(0, "0.5"), nil, `data file log, line 1, column 1: the label is "0.5" but must be 0 or 1`},
		{clickLine(1, "1,000"), nil,
			`data file log, line 1, column 3: number 1 is "1,000" but must be a finite number or empty; its comma could separate thousands or decimals: write a point before decimals and nothing between thousands`},
		{clickLine(15, "-1"), index,
			`data file log, line 1, column 31: category 2 is "-1" but must be a row of its table, 0 to 9`},
		{clickLine(15, ""), index,
			`data file log, line 1, column 31: category 2 is "" but must be a row of its table, 0 to 9`},
		{good + clickLine(0, "x") + good + clickLine(0, "y"), most(1),
			`more lines are malformed than the 1 that max_bad_lines allows; the last: data file log, line 4, column 1: the label is "y" but must be 0 or 1`},
		{clickLine(0, "x"), most(5),
			`data file log holds no samples; the last malformed line: data file log, line 1, column 1: the label is "x" but must be 0 or 1`},
		{good + strings.Repeat("x", 1<<20+1), nil,
			"data file log, after line 1: the next line is longer than 1048576 bytes"},
		{"", nil, "data file log holds no samples"},
		{strings.Repeat("name\t", 39) + "name\n", nil, "data file log holds no samples"},
		{packed("gzip", ""), nil, "data file log holds no samples"},
		{good, func(s *CriteoSettings) { s.Compression = "gzip" },
			`data file log: a gzip stream begins with the bytes 1f 8b but the file with "1\t2\t"`},
		{packed("gzip", good), func(s *CriteoSettings) { s.Compression = "zstd" },
			`data file log: a zstd stream begins with the bytes 28 b5 2f fd but the file with "\x1f\x8b\b\x00"`},
		{cut(packed("gzip", good+good), 1), nil, "data file log, after line 2: the gzip stream ends too early"},
		{cut(packed("gzip", good), 20), nil, "data file log, after line 0: the gzip stream ends too early"},
		{packed("gzip", good)[:5], nil, "data file log: the gzip stream ends too early"},
		{cut(packed("zstd", good+good), 1), nil, "data file log, after line 2: the zstd stream ends too early"},
		{packed("zstd", good)[:6], nil, "data file log, after line 0: the zstd stream ends too early"},
		{cut(packed("gzip", good), 1) + "x", nil,
			"data file log, after line 1: the gzip stream is broken: gzip: invalid checksum"},
		{cut(packed("zstd", good), 1) + "x", nil,
			"data file log, after line 1: the zstd stream is broken: CRC check failed"},
		{"\xff\xfe1\x00\t\x00", nil, "data file log: its text is in UTF-16: save it as UTF-8"},
		{"PAR1...", nil,
			"data file log: it is a Parquet file, which psbench does not read: write the samples as CSV or JSON lines"},
		{"\xfd7zXZ\x00...", nil,
			"data file log: it is compressed by xz, which psbench does not read: decompress it first, by xz -d"},
		{packed("gzip", good) + strings.Repeat("\x00", 10) + "x", nil,
			"data file log, after line 1: the gzip stream is broken: other data follows its last gzip member"},
		{packed("gzip", good) + strings.Repeat("x", 10), nil,
			"data file log, after line 1: the gzip stream is broken: other data follows its last gzip member"},
	} {
		t.Chdir(t.TempDir())
		if err := os.WriteFile("log", []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		s := DefaultCriteo
		s.Path = "log"
		if c.change != nil {
			c.change(&s)
		}
		if _, _, _, err := readClicks(s, clickInputs(10)); err == nil || err.Error() != c.want {
			t.Errorf("%.100q gives\n  %v\nwant\n  %s", c.content, err, c.want)
		}
	}
}

func TestCriteoPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, folder := range []string{"logs/inner", "none/inner", "marks", "half"} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, label := range map[string]string{"logs/day_1": "1", "logs/day_0": "0", "logs/day_10": "1",
		"logs/.hidden": "x", "logs/_SUCCESS": "x", "logs/_committed_1": "x", "marks/_SUCCESS": "",
		"half/_temporary": ""} {
		if err := os.WriteFile(name, []byte(clickLine(0, label)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := DefaultCriteo
	s.Path = "logs"
	if got, _, _, err := readClicks(s, clickInputs(10)); err != nil || len(got.Targets) != 3 || got.Targets[0] != 0 ||
		got.Targets[1] != 1 {
		t.Errorf("a folder of three files has the labels %v, and %v", got.Targets, err)
	}
	for path, want := range map[string]string{
		"none":        "data folder none holds only folders, whose files are not read: give the path of one of them",
		"marks":       "data folder marks holds no files but 1 whose names begin with . or _, which are left out",
		"half":        "data folder half is not complete: it holds _temporary and no _SUCCESS, so the job that writes it has not ended",
		"away":        "data file away does not exist",
		"away/folder": "data file away/folder does not exist",
	} {
		s.Path = path
		if _, _, _, err := readClicks(s, clickInputs(10)); err == nil || err.Error() != want {
			t.Errorf("path %s gives %v, want %s", path, err, want)
		}
	}
}

func TestCriteoSettingsErrors(t *testing.T) {
	for want, change := range map[string]func(*CriteoSettings){
		`setting format is "xml" but must be auto, tsv or csv`: func(s *CriteoSettings) {
			s.Format = "xml"
		},
		`setting compression is "lz4" but must be auto, none, gzip, zstd or bzip2`: func(s *CriteoSettings) {
			s.Compression = "lz4"
		},
		`setting numbers is "" but must be log or plain`: func(s *CriteoSettings) {
			s.Numbers = ""
		},
		`setting categories is "mod" but must be hash or index`: func(s *CriteoSettings) {
			s.Categories = "mod"
		},
		"setting held_out is 0.7 but must be from 0 to 0.5": func(s *CriteoSettings) {
			s.HeldOut = 0.7
		},
		"setting held_out_samples is -1 but must be 0 or more": func(s *CriteoSettings) {
			s.HeldOutSamples = -1
		},
		"setting max_bad_lines is -1 but must be 0 or more": func(s *CriteoSettings) {
			s.MaxBadLines = -1
		},
	} {
		s := DefaultCriteo
		change(&s)
		if _, err := NewCriteo(s, sdk.DataEnv{}); err == nil || err.Error() != want {
			t.Errorf("settings %+v give %v, want %s", s, err, want)
		}
	}
}

// A model must accept the numbers and categories of a click log. The model may look up some of the features.
func TestCriteoFits(t *testing.T) {
	fits := clickInputs(10)
	lookedUp := fits
	lookedUp.Features, lookedUp.LookedUp = 13+26*4, 26*4
	fewTables := fits
	fewTables.Tables = fewTables.Tables[:25]
	const has = "a click log has 13 numbers and 26 categories but the model takes "
	for _, c := range []struct {
		in   sdk.InputSpec
		want string
	}{
		{fits, ""},
		{lookedUp, ""},
		{fewTables, has + "13 numbers and the rows of 25 tables"},
		{sdk.InputSpec{Rows: 1024}, has + "0 numbers and the rows of 0 tables"},
		{sdk.InputSpec{Features: 100, Tables: fits.Tables}, has + "100 numbers and the rows of 26 tables"},
	} {
		d, err := NewCriteo(DefaultCriteo, sdk.DataEnv{})
		if err != nil {
			t.Fatal(err)
		}
		d.(sdk.FittedData).Fit(c.in)
		_, load := d.Load()
		r, open := d.(sdk.StreamedData).Open()
		if open == nil {
			_ = r.Close()
		}
		for _, err := range []error{load, open} {
			if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
				t.Errorf("%+v gives %v, want %s", c.in, err, c.want)
			}
		}
	}
}

func TestCriteoTellsOfMalformedLines(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("log", []byte(clickLine(0, "0")+clickLine(3, "x")+clickLine(0, "x")+clickLine(0, "1")),
		0o600); err != nil {
		t.Fatal(err)
	}
	s := DefaultCriteo
	s.Path, s.MaxBadLines = "log", 2
	got, _, facts, err := readClicks(s, clickInputs(10))
	want := `2 passed over; the last: data file log, line 3, column 1: the label is "x" but must be 0 or 1`
	if err != nil || len(got.Targets) != 2 || facts["malformed_lines"] != want {
		t.Errorf("labels are %v, facts %v, and %v", got.Targets, facts, err)
	}
}

// Blank lines, padding and empty files in a folder yield no samples. This holds for the first pass, and for later
// passes, which skip lines without parsing them.
func TestCriteoPassesOverWhatHoldsNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("log", 0o700); err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.WriteString(w, clickLine(0, "1.0")+"\r\n \n"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"0": "\uFEFF\n" + clickLine(0, "0") + "\n" + clickLine(0, "1") + "\n\n", "1": "",
		"2": strings.Repeat("name\t", 39) + "name\n", "3": packed.String() + strings.Repeat("\x00", 1000),
		"4": clickLine(0, "False"),
	} {
		if err := os.WriteFile("log/"+name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := DefaultCriteo
	s.Path, s.HeldOut = "log", 0
	d, err := NewCriteo(s, sdk.DataEnv{})
	if err != nil {
		t.Fatal(err)
	}
	d.(sdk.FittedData).Fit(clickInputs(10))
	for skip := range 5 {
		r, err := d.(sdk.StreamedData).Open()
		if err != nil {
			t.Fatal(err)
		}
		var b sdk.Batch
		if err := errors.Join(r.Skip(skip), r.Read(&b, 10)); err != nil && skip < 4 {
			t.Fatal(err)
		}
		if want := []int64{0, 1, 1, 0}[skip:]; len(b.Targets) != len(want) ||
			len(want) > 0 && !slices.Equal(b.Targets, want) {
			t.Errorf("after %d samples the labels are %v, want %v", skip, b.Targets, want)
		}
		if err := r.Read(&b, 1); !errors.Is(err, io.EOF) {
			t.Errorf("at the end there is %v", err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A model can learn the labels of the built-in sample, because the labels depend on the features.
func TestClickSample(t *testing.T) {
	trained, held, facts, err := readClicks(DefaultCriteo, clickInputs(1000))
	if err != nil {
		t.Fatal(err)
	}
	if len(trained.Targets) != 18_000 || held.Size() != 2_000 || len(facts) != 0 {
		t.Fatalf("%d samples are trained on and %d held out, with %v", len(trained.Targets), held.Size(), facts)
	}
	clicked, ones := 0.0, 0.0
	for i, label := range held.Targets {
		ones += float64(label)
		if label == 1 {
			clicked += float64(held.Features[i*13]) - float64(held.Features[i*13+4])
		} else {
			clicked -= float64(held.Features[i*13]) - float64(held.Features[i*13+4])
		}
	}
	if rate := ones / 2000; math.Abs(rate-0.25) > 0.05 || clicked < 1000 {
		t.Errorf("%v of the labels are 1, and features 0 and 4 tell them by %v", rate, clicked)
	}
	if want := "clicks.tsv.zst (built in), line 20, column 1"; held.Origin(1, -1) != want {
		t.Errorf("the second sample held out comes from %s, want %s", held.Origin(1, -1), want)
	}
}
