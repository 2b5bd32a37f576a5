package datafile

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func fifo(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "pipe.csv")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// content returns all that a file holds, or the text of the error.
func content(f File) string {
	r, err := f.OpenText("auto")
	if err != nil {
		return err.Error()
	}
	all, err := io.ReadAll(r)
	if closed := r.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err.Error()
	}
	return string(all)
}

func TestNamedPipe(t *testing.T) {
	f := OnDisk(fifo(t), time.Minute)
	if err := f.Anew(); err == nil || !strings.HasSuffix(err.Error(), "is a pipe, which can be read only once") {
		t.Errorf("that it is read anew gives %v", err)
	}
	written := make(chan error)
	go func() { written <- os.WriteFile(f.name, []byte("\uFEFFtext"), 0o600) }()
	if got := content(f); got != "text" {
		t.Errorf("it holds %q", got)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	f = OnDisk(f.name, 100*time.Millisecond)
	if got := content(f); !strings.HasSuffix(got, "is a pipe to which nobody has written for 50ms") {
		t.Errorf("without a writer it gives %q", got)
	}
	silent, err := os.OpenFile(f.name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	if _, err := silent.WriteString("0123456789 begins and goes on"); err != nil {
		t.Fatal(err)
	}
	if got := content(f); !strings.HasSuffix(got, "nothing has come from the pipe for 50ms") {
		t.Errorf("with a silent writer it gives %q", got)
	}
}

func TestStandardInput(t *testing.T) {
	before := os.Stdin
	defer func() { os.Stdin = before }()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("gone text"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(plain)
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Seek(5, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("text"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f := OnDisk("-", time.Minute)
	for _, c := range []struct {
		input       *os.File
		want, again string
	}{
		{r, "text", "data file - is standard input, a pipe, which can be read only once"},
		{file, "text", ""},
		{null,
			"data file -, standard input, is a device: give psbench a file or a pipe there; the runs of a sweep and processes of other hosts do not have it", ""},
	} {
		os.Stdin = c.input
		again := ""
		if err := f.Anew(); err != nil {
			again = err.Error()
		}
		if got := content(f); got != c.want || again != c.again {
			t.Errorf("it holds %q and %q, want %q and %q", got, again, c.want, c.again)
		}
		_ = c.input.Close()
	}
}
