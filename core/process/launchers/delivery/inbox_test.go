package delivery

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Publish moves the received files to the user's paths. Paths without a received file stay untouched.
func TestInbox(t *testing.T) {
	dir := t.TempDir()
	out, result, logs := filepath.Join(dir, "run"), filepath.Join(dir, "r.json"), filepath.Join(dir, "logs")
	b, err := NewInbox(map[string]string{OutFlag: out, JSONFlag: result, LogsFlag: logs,
		RecordFlag: filepath.Join(dir, "case.json")})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	for name, text := range map[string]string{"out/result.json": "1", "json/r.json": "2", "log-dir/data.log": "3"} {
		path := filepath.Join(b.Folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Publish(); err != nil {
		t.Fatal(err)
	}
	b.Discard()
	want := map[string]string{".": "/", "run": "/", "run/result.json": "1", "r.json": "2", "logs": "/",
		"logs/data.log": "3"}
	got := tree(t, dir)
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is %q, want %q", name, got[name], text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("there are %v", got)
	}
}

// NewInbox returns an error for paths to which Publish could not write.
func TestInboxRefuses(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for flag, path := range map[string]string{OutFlag: full, JSONFlag: filepath.Join(full, "none", "r.json"),
		RecordFlag: filepath.Join(full, "none", "case.json")} {
		t.Run(flag, func(t *testing.T) {
			if _, err := NewInbox(map[string]string{flag: path}); err == nil {
				t.Errorf("--%s %s is accepted", flag, path)
			}
		})
	}
}
