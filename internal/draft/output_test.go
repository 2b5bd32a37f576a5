package draft

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// An output may replace earlier outputs, but none of its sources.
func TestOutput(t *testing.T) {
	source := t.TempDir()
	for _, name := range []string{"result.json", "old.html"} {
		if err := os.WriteFile(filepath.Join(source, name), []byte("before"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(source, "result.json")
	for name, test := range map[string]struct{ path, source, refused string }{
		"new":               {filepath.Join(t.TempDir(), "page.html"), source, ""},
		"device":            {os.DevNull, source, ""},
		"folder":            {t.TempDir(), source, "it is a folder: name a file in it"},
		"source":            {file, file, "it is the run " + file + ", which is read: choose another name"},
		"file of a source":  {file, source, "it is a file of " + source + ", which is read: choose another name"},
		"new in a source":   {filepath.Join(source, "new.txt"), source, ""},
		"output of before":  {filepath.Join(source, "old.html"), source, ""},
		"of no source":      {file, t.TempDir(), ""},
		"source is no file": {file, "-", ""},
		"folder is not there": {filepath.Join(source, "none", "page.html"), source,
			"no file can be made in directory " + filepath.Join(source, "none") + ": no such file or directory"},
		"folder is a file too": {filepath.Join(file, "page.html"), source,
			"stat " + filepath.Join(file, "page.html") + ": not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			size, err := Output(test.path, ".html", []string{test.source}, func(w io.Writer) error {
				_, err := io.WriteString(w, "after")
				return err
			})
			switch {
			case test.refused != "" && (err == nil || err.Error() != test.refused):
				t.Errorf("the error is %v, want %q", err, test.refused)
			case test.refused == "" && (err != nil || size != int64(len("after"))):
				t.Errorf("%d bytes are written, %v", size, err)
			}
		})
	}
}
