package result

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestWriteKeepsModeAndUmask(t *testing.T) {
	dir := t.TempDir()
	for name, before := range map[string]os.FileMode{"new": 0, "private": 0o600, "shared": 0o664, "read-only": 0o444} {
		t.Run(name, func(t *testing.T) {
			path, want := filepath.Join(dir, name), before
			if before == 0 {
				want = 0o666 &^ umask(t)
			} else if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			} else if err := os.Chmod(path, before); err != nil {
				t.Fatal(err)
			}
			for _, write := range []func() error{
				func() error { return Announce(path, example()) },
				func() error { return Write(path, example(), still) },
			} {
				if err := write(); err != nil {
					t.Fatal(err)
				}
				info, err := os.Stat(path)
				if err != nil || info.Mode().Perm() != want {
					t.Errorf("%s: mode %v, want %v, %v", name, info.Mode().Perm(), want, err)
				}
			}
		})
	}
}

// umask returns this process's umask. umask does not set the umask, because this would affect all goroutines.
func umask(t *testing.T) os.FileMode {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	return 0o666 &^ info.Mode().Perm()
}

func TestWriteTellsOfEveryPiece(t *testing.T) {
	r := example()
	r.Warnings = []string{strings.Repeat("x", 10*pieceBytes)}
	told := 0
	if err := Write(filepath.Join(t.TempDir(), "r.json"), r, func() { told++ }); err != nil || told != 12 {
		t.Errorf("told %d times of ten pieces, a bit, and the series, %v", told, err)
	}
}

// writerVariable makes the test binary write run.json and stop before it has finished.
const writerVariable = "RESULT_TEST_WRITE"

func TestMain(m *testing.M) {
	if os.Getenv(writerVariable) != "" {
		stuck := func() {
			_, _ = os.Stdout.WriteString("writing\n")
			select {}
		}
		_ = Write("run.json", example(), stuck)
		return
	}
	os.Exit(m.Run())
}

// If a process dies while it writes, the older file remains, and no other file is left.
func TestKilledWriterLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Dir, cmd.Env = filepath.Dir(path), append(os.Environ(), writerVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len("writing\n"))
	if _, err := out.Read(line); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if data, err := os.ReadFile(path); string(data) != "old" {
		t.Errorf("the file is now %q, %v", data, err)
	}
	onlyFile(t, path)
}

// A pipe gets only the result, and its reader may be slow.
func TestWriteToAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		err := Announce(path, example())
		if err == nil {
			err = Write(path, example(), still)
		}
		written <- err
	}()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-written:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the writer hangs")
	}
	if _, err := parse(bytes.TrimSpace(data)); err != nil {
		t.Error(err)
	}
}

func TestErrorsQuotePaths(t *testing.T) {
	for _, folder := range []string{"a\x1b[31m\nb", strings.Repeat("x", 200)} {
		t.Run(folder, func(t *testing.T) {
			folder = filepath.Join(t.TempDir(), folder)
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			broken := filepath.Join(folder, "broken")
			if err := os.WriteFile(broken, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			away := filepath.Join(folder, "away", strings.Repeat("y", 100))
			_, absent := Read(away)
			_, malformed := Read(broken)
			for _, err := range []error{
				Announce(folder, example()), Write(folder, example(), still), Announce(away, example()),
				Write(away, example(), still),
				Announce(filepath.Join(broken, "r"), example()), absent, malformed,
			} {
				if err == nil || strings.ContainsAny(err.Error(), "\x1b\n") || len(err.Error()) > 700 ||
					!strings.Contains(err.Error(), " bytes)") && !strings.Contains(err.Error(), `\x1b`) {
					t.Errorf("got %q", err)
				}
			}
		})
	}
}
