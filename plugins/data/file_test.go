package data

import (
	"bytes"
	"fmt"
	"os"
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

// The samples on the documentation page about data are valid.
func TestSamplesOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/data.md")
	if err != nil {
		t.Fatal(err)
	}
	for language, want := range map[string]int{"json": 4, "csv": 2} {
		t.Run(language, func(t *testing.T) {
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
		})
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
		"floats":        {"a.csv", "3.0,+1,4e0,2.\n1,0.0\n"},
		"floats of json": {"a.jsonl",
			"{\"input\": [3.0, 1e0, 40e-1], \"target\": 2.0}\n{\"target\": false, \"input\": [true]}"},
		"no JSON": {"a.jsonl",
			"{\"input\": [+3, True, 4.], \"target\": 2}\n{\"input\": [1_0e-1], \"target\": False}"},
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

// A line without end, such as the content of /dev/zero, must not fill the memory.
func TestTooLongLine(t *testing.T) {
	text := bytes.Repeat([]byte("0"), (longestLineMiB+1)<<20)
	for _, format := range []string{"jsonl", "csv"} {
		t.Run(format, func(t *testing.T) {
			s := DefaultFile
			s.Format = format
			in := datafile.InMemory("a", text)
			parse, err := s.parser(in)
			if err != nil {
				t.Fatal(err)
			}
			err = parsedFile{in, parse}.read(&fileSamples{files: []datafile.File{in}})
			if want := "the line is longer than 64 MiB, the most that psbench reads"; err == nil ||
				!strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s: error is %.200v, want %s", format, err, want)
			}
		})
	}
}

func TestFileOrigin(t *testing.T) {
	for name, c := range map[string]struct{ content, index, target string }{
		"a.jsonl": {"\n{\"input\": [3, 1, 14], \"target\": 2}", "a.jsonl, line 2, column 18",
			"a.jsonl, line 2, column 33"},
		"a.csv": {"h,h\n3,1, 14,2", "a.csv, line 2, column 6", "a.csv, line 2, column 9"},
	} {
		t.Run(name, func(t *testing.T) {
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
		})
	}
}

func TestFileWithFeaturesAndSeveralTargets(t *testing.T) {
	for content, c := range map[string]struct {
		want          sdk.Batch
		input, target string // expected places of the second input and of the second sample's target
	}{
		"{\"features\": [0.5, -1], \"target\": 2}\n{\"target\": 0, \"features\": [3, 1e-3]}": {
			sdk.Batch{Features: []float32{0.5, -1, 3, 1e-3}, Targets: []int64{2, 0}}, "column 31", "column 12",
		},
		"{\"input\": [7], \"target\": [1, 2]}\n{\"input\": [0, 8], \"target\": [ 3,4 ] }": {
			sdk.Batch{Indices: []int64{7, 0, 8}, Offsets: []int64{0, 1, 3}, Targets: []int64{1, 2, 3, 4}}, "column 15",
			"column 31",
		},
		"{\"input\": [], \"features\": [4], \"target\": [1]}\n{\"features\": [5], \"input\": [0, 8], \"target\": 3}": {
			sdk.Batch{Indices: []int64{0, 8}, Offsets: []int64{0, 0, 2}, Features: []float32{4, 5},
				Targets: []int64{1, 3}}, "column 32", "column 46",
		},
	} {
		t.Run(fmt.Sprintf("%.60s", content), func(t *testing.T) {
			samples, err := load(t, "a.jsonl", content)
			if err != nil {
				t.Errorf("%s: %v", content, err)
				return
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
		})
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
		second, class   string // expected places of the second number and of the second sample's target
	}{
		"last": {"0.5,-1,2\n3,1e-3,0\n", "", []float32{0.5, -1, 3, 1e-3}, []int64{2, 0},
			"line 2, column 3", "line 2, column 8"},
		"by name": {"x, label ,y\n1,2,3\n4, 5,6\n", "label", []float32{1, 3, 4, 6}, []int64{2, 5},
			"line 3, column 6", "line 3, column 4"},
		"by number": {"2,0.5,1\n0,3,1", "1", []float32{0.5, 1, 3, 1}, []int64{2, 0}, "line 2, column 5",
			"line 2, column 1"},
		"a name that is a number": {"2015,2016,sum\n1,7,2\n3,8,4", "2016", []float32{1, 2, 3, 4}, []int64{7, 8},
			"line 3, column 5", "line 3, column 3"},
	} {
		t.Run(name, func(t *testing.T) {
			change := []func(*FileSettings){features(c.target)}
			if name == "a name that is a number" {
				change = append(change, header("yes"))
			}
			samples, err := load(t, "a.csv", c.content, change...)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			if d := cmp.Diff(sdk.Batch{Features: c.features, Targets: c.targets}, samples.Batch); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			if second, class := samples.Origin(1, 1), samples.Origin(1, -1); second != "a.csv, "+c.second ||
				class != "a.csv, "+c.class {
				t.Errorf("%s: the second sample comes from %s and %s, want %s and %s", name, second, class, c.second,
					c.class)
			}
		})
	}
}

// Every k-th sample is held out, in both formats, and keeps its place in the file.
func TestFileHoldsOut(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		change  func(*FileSettings)
	}{
		"a.csv":   {"h,i,t\n0,1,0\n2,3,1\n4,5,0\n6,7,1\n8,9,0\n", features("")},
		"a.jsonl": {strings.Repeat("{\"features\":[0,1],\"target\":0}\n", 5), func(*FileSettings) {}},
	} {
		t.Run(name, func(t *testing.T) {
			samples, err := load(t, name, c.content, c.change, func(s *FileSettings) { s.HeldOut = 0.5 })
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			if samples.Size() != 3 || samples.HeldOut == nil || samples.HeldOut.Size() != 2 {
				t.Errorf("%s: %d samples are trained on and %v held out, want 3 and 2", name, samples.Size(),
					samples.HeldOut)
				return
			}
			if name == "a.csv" &&
				(!slices.Equal(samples.HeldOut.Features, []float32{2, 3, 6, 7}) ||
					!slices.Equal(samples.HeldOut.Targets, []int64{1, 1})) {
				t.Errorf("%s: held out are %+v", name, samples.HeldOut.Batch)
			}
			first := map[string]int{"a.csv": 2, "a.jsonl": 1}[name]
			for i, line := range []int{0, 2, 4} {
				if got := samples.Origin(i, 0); !strings.HasPrefix(got, fmt.Sprintf("%s, line %d,", name, first+line)) {
					t.Errorf("sample %d comes from %s", i, got)
				}
			}
			if got := samples.HeldOut.Origin(1, -1); !strings.HasPrefix(got,
				fmt.Sprintf("%s, line %d,", name, first+3)) {
				t.Errorf("the second sample held out comes from %s", got)
			}
		})
	}
	if _, err := load(t, "a.csv", "1,2", func(s *FileSettings) { s.HeldOut = 0.6 }); err == nil {
		t.Error("held_out 0.6 was accepted")
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
	for _, s := range []string{`{"input":[1,2],"target":3}`, "\n{}\n", `{"input":[1,`, `{"target":1e5}`, "[]",
		`{"input":{}}`, `"`,
		`{"features":[1.5,-2e3],"target":3}`, `{"input":[1],"target":[1,2]}`,
		"{\"input\":[],\"features\":[1],\"target\":0}\n{\"input\":[1]}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, content string) { checkParse(t, "a.jsonl", content) })
}

// checkParse checks that any content yields either well-formed samples with origins, or an error that names the
// place.
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
		if !strings.HasPrefix(err.Error(), "data file "+name+", line ") &&
			!strings.HasPrefix(err.Error(), "data file "+name+": ") &&
			!strings.Contains(err.Error(), "holds no samples") {
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
