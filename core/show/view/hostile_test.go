package view

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/psbench/psbench/core/record/folder"
	"github.com/psbench/psbench/core/record/result"
	"github.com/psbench/psbench/core/study/model"
)

// nasty contains what names, errors and logs may contain: HTML, line breaks that only JavaScript knows, invalid
// UTF-8, terminal commands, and characters that reverse the text direction.
const nasty = "</script><img src=x onerror=alert(1)>&\"'`${x}\u2028\u2029\x00\x1b[2J\x1b]0;x\x07\r\x7f\u0085\u202e\xff\xc3\xed\xa0\x80\ufeff\uffff"

// For any foreign texts, the document is JSON in UTF-8, starts no HTML tag and hides nothing.
func TestHostileTexts(t *testing.T) {
	dir := t.TempDir()
	s := hostile(t, dir)
	d, err := Of(s, fixed)
	if err != nil {
		t.Fatal(err)
	}
	requireHarmless(t, d)
	for _, place := range []string{
		d.Name, d.Cells[0].Name, d.Cells[0].Values[0], d.Axes[0].Name, d.Cells[1].Reason, d.Cells[2].Reason,
		d.Cells[1].Failed[0].Logs[0].Tail,
		d.Runs[0].Warnings[0], d.Details[0].Command[0], d.Details[0].Config[0].Value,
		d.Details[0].Processes[0].Facts[0].Value, d.Environments[0].Facts[0].Value,
	} {
		t.Run(place, func(t *testing.T) {
			if !strings.Contains(place, "</script>") || !strings.Contains(place, "[2J") {
				t.Errorf("what was written is gone: %q", place)
			}
		})
	}
	if v := d.Details[0].Config[1].Value; len(v) > mostValue+50 || !strings.HasPrefix(v, "[0,0,") {
		t.Errorf("a value has %d bytes: %.40q", len(v), v)
	}
	if log := d.Cells[1].Failed[0].Logs[0]; !log.Cut || len(log.Tail) > 2*tailBytes {
		t.Errorf("a log of %d bytes, cut %v", len(log.Tail), log.Cut)
	}
}

// hostile returns a study with a completed run, a failed run and a skipped cell. All its texts are nasty.
func hostile(t *testing.T, dir string) *model.Study {
	t.Helper()
	r, err := folder.Read(recordedDLRM)
	if err != nil {
		t.Fatal(err)
	}
	r.Command, r.Warnings = []string{nasty}, []string{nasty}
	r.Config[0] = result.Value{Key: nasty, Value: nasty, Origin: nasty}
	r.Config[1].Value = make([]int, mostText) // data written out in full
	for i := range r.Processes {
		r.Processes[i].Facts = map[string]string{nasty: nasty}
	}
	f, err := folder.Create(filepath.Join(dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Write(r); err != nil {
		t.Fatal(err)
	}
	logs := filepath.Join(dir, "failed", "logs")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(logs, "trainer0.log"), []byte(strings.Repeat(nasty+"\n", 200)),
		0o600); err != nil {
		t.Fatal(err)
	}
	s := loaded(t, filepath.Join(dir, "run"))
	run := s.Cells[0].Runs[0]
	run.Warnings, run.Environment.Psbench = []string{nasty}, nasty
	run.Values["loss"+nasty], run.Values[model.Throughput] = 1, math.NaN()
	cell := func(name string) *model.Cell {
		return &model.Cell{ID: name, Name: nasty + name, Values: []string{nasty + name}}
	}
	done, failed, skipped := cell("a"), cell("b"), cell("c")
	done.Runs = []*model.Run{run}
	failed.Failed = []model.Failure{{Folder: filepath.Join(dir, "failed"), Reason: nasty}}
	skipped.Skipped = nasty
	return &model.Study{
		Name: nasty, Axes: []model.Axis{{Name: nasty, Values: []string{nasty + "a", nasty + "b", nasty + "c"}}},
		Cells: []*model.Cell{done, failed, skipped}, Warnings: []string{nasty},
	}
}

// requireHarmless requires JSON without HTML, and texts without invisible characters.
func requireHarmless(t *testing.T, d *Document) {
	t.Helper()
	text, err := d.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, new(Document)); err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(text) || bytes.ContainsAny(text, "<>&\u2028\u2029\x00\x1b") {
		t.Errorf("it is no JSON that a page can hold")
	}
	each := func(s string) {
		if strings.ContainsFunc(s, func(r rune) bool {
			return unicode.IsControl(r) && r != '\n' && r != '\t' || r == '\u202e' || r == '\u2028'
		}) {
			t.Errorf("%q has what is not seen", s)
		}
	}
	walk(reflect.ValueOf(*d), func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			each(v.String())
		case reflect.Slice, reflect.Map:
			if v.IsNil() {
				t.Errorf("a list of %v is null", v.Type())
			}
		}
	})
}

// walk calls do for every value inside v.
func walk(v reflect.Value, do func(reflect.Value)) {
	do(v)
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walk(v.Elem(), do)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), do)
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			walk(key, do)
			walk(value, do)
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() {
				walk(value, do)
			}
		}
	}
}

// The recorded documents have no null lists and no invisible characters.
func TestRecordedAreHarmless(t *testing.T) {
	for _, d := range recorded(t) {
		requireHarmless(t, d)
	}
}

func TestClean(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain ü → 世", "plain ü → 世"},
		{"a\tb\n", "a\tb\n"},
		{"\x1b[31mred\x00\x7f", "␛[31mred␀␡"},
		{"a\xffb", "a\ufffdb"},
		{"a\u2028b\u202ec\u0085d", "a\ufffdb\ufffdc\ufffdd"},
		{strings.Repeat("ü", mostText), strings.Repeat("ü", mostText/2) + "... (16384 bytes)"},
	} {
		t.Run(c.in, func(t *testing.T) {
			if got := clean(c.in); got != c.want {
				t.Errorf("%.40q is %.40q, want %.40q", c.in, got, c.want)
			}
		})
	}
}

func FuzzClean(f *testing.F) {
	f.Add(nasty)
	f.Add(strings.Repeat("x", mostText-1) + "世")
	f.Fuzz(func(t *testing.T, in string) {
		out := clean(in)
		if !utf8.ValidString(out) ||
			strings.ContainsFunc(out, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Errorf("%q", out)
		}
		if len(in) <= mostText && clean(out) != out && len(out) <= mostText {
			t.Errorf("%q is cleaned once more", out)
		}
	})
}
