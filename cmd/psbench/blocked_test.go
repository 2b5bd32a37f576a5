package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/psbench/psbench/core/record/result"
)

// tiny are the flags of a very short run.
var tiny = []string{
	"--epochs", "1", "--set", "model.num_embeddings=100", "--set", "model.embedding_dim=100",
	"--set", "model.dense_input_size=100", "--set", "model.dense_output_size=100",
}

// An interrupt ends psbench even while it waits for a writer or a reader that never comes.
func TestInterruptWhileBlocked(t *testing.T) {
	for _, args := range []string{
		"config --config FIFO", "list --registry FIFO", "config --model-config-path FIFO",
		"list data --data-config-path FIFO",
		"config --server-config-path FIFO", "run --trainer-config-path FIFO", "verify FIFO", "comm --registry FIFO",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			fifo := newFIFO(t)
			b := startBlocked(t, io.Discard, strings.Fields(strings.ReplaceAll(args, "FIFO", fifo))...)
			b.until("read", func() bool { // from then on a writer can open the FIFO without waiting
				f, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0)
				if err == nil {
					t.Cleanup(func() { _ = f.Close() })
				}
				return err == nil
			})
			b.interrupted()
		})
	}
	t.Run("run --json FIFO", func(t *testing.T) {
		t.Parallel()
		b := startBlocked(t, io.Discard, append(tiny, "--json", newFIFO(t))...)
		b.until("collect", func() bool { return strings.Contains(b.said(), "collection") })
		b.interrupted()
	})
	t.Run("tables to a full pipe", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "result.json")
		b := startBlocked(t, fullPipe(t), append(tiny, "--json", file)...)
		b.until("save its result", func() bool {
			r, err := result.Read(file)
			return err == nil && r.Complete
		})
		b.interrupted()
	})
}

// If the reader of the tables leaves, the tables are lost but the result is kept.
func TestReaderOfTablesLeaves(t *testing.T) {
	file := filepath.Join(t.TempDir(), "result.json")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	b := startBlocked(t, w, append(tiny, "--json", file, "--quiet")...)
	b.ends(exitPipe)
	if said := b.said(); said != "" {
		t.Errorf("psbench says %q", said)
	}
	if r, err := result.Read(file); err != nil || !r.Complete {
		t.Errorf("the result is %v, %v", r, err)
	}
}

func newFIFO(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// fullPipe returns the write end of a full pipe without a reader.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	if err := w.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := w.Write(make([]byte, 1<<21)); err == nil {
		t.Fatalf("%d bytes do not fill the pipe", n)
	}
	return w
}

// blocked is a psbench process that waits for another process.
type blocked struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr string // name of a file
	ended  chan struct{}
}

func startBlocked(t *testing.T, stdout io.Writer, args ...string) *blocked {
	t.Helper()
	b := &blocked{t: t, stderr: filepath.Join(t.TempDir(), "stderr"), ended: make(chan struct{})}
	stderr, err := os.Create(b.stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stderr.Close() }()
	b.cmd = &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{"psbench"}, args...), Env: os.Environ(),
		Stdout: stdout, Stderr: stderr}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(b.ended)
		_ = b.cmd.Wait() // until checks the exit status
	}()
	t.Cleanup(func() {
		_ = b.cmd.Process.Kill()
		<-b.ended
	})
	return b
}

func (b *blocked) said() string {
	b.t.Helper()
	text, err := os.ReadFile(b.stderr)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// until waits until a condition holds.
func (b *blocked) until(what string, holds func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("psbench does not %s:\n%s", what, b.said())
		}
	}
}

// interrupted interrupts psbench, which must exit and report the interrupt.
func (b *blocked) interrupted() {
	b.t.Helper()
	if err := b.cmd.Process.Signal(os.Interrupt); err != nil {
		b.t.Fatal(err)
	}
	b.ends(exitSignal)
	if said := b.said(); !strings.HasSuffix(said, "psbench: interrupted\n") {
		b.t.Errorf("psbench says %q", said)
	}
}

func (b *blocked) ends(status int) {
	b.t.Helper()
	select {
	case <-b.ended:
	case <-time.After(time.Minute):
		b.t.Fatalf("psbench hangs:\n%s", b.said())
	}
	if got := b.cmd.ProcessState.ExitCode(); got != status {
		b.t.Errorf("the exit status is %d, want %d:\n%s", got, status, b.said())
	}
}
