package folder

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// Logs reads only regular files within the folder. Logs does not follow links or wait for pipes.
func TestLogs(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	logs := filepath.Join(dir, logsName)
	if err := os.Mkdir(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		filepath.Join(logs, "server1.log"): "0123456789", filepath.Join(logs, "trainer0.log"): "1234",
		filepath.Join(logs, "data.log"): "", outside: "secret",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(logs, "link.log")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(logs, "pipe.log"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []Log{{"server1", "6789", true}, {"trainer0", "1234", false}}
	if d := cmp.Diff(want, Logs(dir, 4)); d != "" {
		t.Error(d)
	}
	if got := Logs(filepath.Join(dir, "none"), 4); got != nil {
		t.Errorf("without a folder there are %v", got)
	}
	if err := os.Rename(logs, filepath.Join(filepath.Dir(outside), "logs")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(outside)+"/logs", logs); err != nil {
		t.Fatal(err)
	}
	if got := Logs(dir, 4); got != nil {
		t.Errorf("behind a link there are %v", got)
	}
}
