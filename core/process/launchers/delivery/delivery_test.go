package delivery

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// receive passes text to a Receiver, and returns everything that it received.
func receive(t *testing.T, text io.Reader) (stdout string, foreign []string, folder string, status int, err error) {
	t.Helper()
	var out bytes.Buffer
	folder = filepath.Join(t.TempDir(), "came")
	r := &Receiver{
		Stdout: &out, Folder: folder,
		Foreign: func(line string) { foreign = append(foreign, line) },
		Began:   func(Start) {}, Heard: func() {},
	}
	status, err = r.Receive(text)
	return out.String(), foreign, folder, status, err
}

// tree returns the contents of a folder: the text of each file by its path, and "/" for each folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			all[name] = "/"
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// All output and files arrive complete, whatever bytes they contain and however large they are. Output from before the
// start is kept apart.
func TestAllComes(t *testing.T) {
	sent := t.TempDir()
	files := map[string]string{"json/r.json": "{}\n", "out/empty": "",
		"out/logs/a b.log": strings.Repeat("\x00\xff\r\n", 50_000)}
	for name, text := range files {
		path := filepath.Join(sent, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(sent, "out", "none"), 0o700); err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	lines.WriteString("a prolog\n{\"status\":0}\n")
	s, err := NewSender(&lines, Start{Job: "12", Nodes: "node[1-2]"})
	if err != nil {
		t.Fatal(err)
	}
	said := "a table\n" + strings.Repeat("x", 3*pieceBytes) + "\xfe"
	if n, err := io.WriteString(s, said); n != len(said) || err != nil {
		t.Error(n, err)
	}
	if err := errors.Join(s.Folder(sent), s.End(3)); err != nil {
		t.Fatal(err)
	}
	stdout, foreign, came, status, err := receive(t, &lines)
	if stdout != said || status != 3 || err != nil || !slices.Equal(foreign, []string{"a prolog", `{"status":0}`}) {
		t.Errorf("%d bytes, status %d, %v, before it %q", len(stdout), status, err, foreign)
	}
	want, got := tree(t, sent), tree(t, came)
	if len(want) != len(got) {
		t.Errorf("there came %d files and folders, want %d", len(got), len(want))
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s has %d bytes, want %d", name, len(got[name]), len(text))
		}
	}
}

const begin = `{"start":{"job":"1","nodes":"n"}}` + "\n"

// Truncated or invalid input is an error. No file is written outside the folder.
func TestWrongLines(t *testing.T) {
	for lines, want := range map[string]string{
		"":                                 ErrCut.Error(),
		"nonsense\n":                       ErrCut.Error(),
		begin + `{"stdout":"aGk="}` + "\n": ErrCut.Error(),
		begin + "nonsense\n":               "the line nonsense, which no psbench of this version writes",
		begin + `{"news":1}` + "\n":        "which no psbench of this version writes",
		begin + `{"status":0}{"status":1}` +
			"\n": "which no psbench of this version writes",
		begin + `{"file":"../a","data":"aGk="}` + "\n":                                "path escapes",
		begin + `{"file":"/a","data":"aGk="}` + "\n":                                  "path escapes",
		begin + `{"file":"a"}` + "\n" + `{"file":"b"}` + "\n" + `{"file":"a"}` + "\n": "file exists",
		begin + strings.Repeat("x", 2*lineBytes):                                      "too long",
	} {
		_, _, folder, _, err := receive(t, strings.NewReader(lines))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, want %s", lines, err, want)
		}
		if there, _ := filepath.Glob(filepath.Join(filepath.Dir(folder), "*")); len(there) > 1 {
			t.Errorf("%.80q: there are %v", lines, there)
		}
	}
}

// With any input, nothing is written outside the folder. If Receive succeeds, a status followed the start.
func FuzzReceive(f *testing.F) {
	f.Add(begin + `{"file":"out/"}` + "\n" + `{"file":"out/a","data":"aGk="}` + "\n" + `{"status":2}`)
	f.Add(begin + `{"file":"a/../../b","data":"aGk="}` + "\n{}\n")
	f.Add("x\n" + begin + `{"stdout":"aGk="}`)
	f.Fuzz(func(t *testing.T, lines string) {
		_, _, folder, _, err := receive(t, strings.NewReader(lines))
		if err == nil && !strings.Contains(lines, "start") {
			t.Error("it ended well without a beginning")
		}
		if there, _ := filepath.Glob(filepath.Join(filepath.Dir(folder), "*")); len(there) > 1 {
			t.Errorf("there are %v", there)
		}
	})
}
