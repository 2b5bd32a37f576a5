package datafile

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/quote"
)

// inputs are the paths of standard input.
var inputs = []string{"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}

func isInput(path string) bool { return slices.Contains(inputs, path) }

// defaultTimeout is the default timeout of a run.
const defaultTimeout = time.Minute

// Anew returns an error if the file cannot be read more than once, because it is a pipe.
func (f File) Anew() error {
	if !f.disk {
		return nil
	}
	info, err := os.Stat(f.name)
	what := "is"
	if isInput(f.name) {
		info, err = os.Stdin.Stat()
		what = "is standard input,"
	}
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return nil // opening the path reports the error
	}
	return fmt.Errorf("data file %s %s a pipe, which can be read only once", f.Shown(), what)
}

// openPipe opens a named pipe once it has a writer. openPipe fails if no writer comes in time.
func openPipe(path, shown string, patience time.Duration) (io.ReadCloser, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // #nosec G304 -- the user names it
	if err != nil {
		return nil, fmt.Errorf("%s cannot be opened: %w", shown, cause(err))
	}
	if err := awaitWriter(f, patience); err != nil {
		return nil, errors.Join(fmt.Errorf("%s %w", shown, err), f.Close())
	}
	return &pipe{f, patience}, nil
}

// awaitWriter waits until data is available or the last writer has closed its end.
func awaitWriter(f *os.File, patience time.Duration) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	for end := time.Now().Add(patience); ; {
		ready, left := 0, time.Until(end)
		var wrong error
		err := raw.Control(func(fd uintptr) {
			fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} // #nosec G115 -- a descriptor
			ready, wrong = unix.Poll(fds, max(0, int(left.Milliseconds())))
		})
		if err = errors.Join(err, wrong); errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || ready > 0 {
			return err
		}
		return fmt.Errorf("is a pipe to which nobody has written for %v", patience)
	}
}

// pipe reads from a pipe whose writers may be silent for a while.
type pipe struct {
	*os.File
	patience time.Duration
}

func (p *pipe) Read(b []byte) (int, error) {
	if err := p.SetReadDeadline(time.Now().Add(p.patience)); err != nil {
		return 0, err
	}
	n, err := p.File.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("nothing has come from the pipe for %v", p.patience)
	}
	return n, err
}

// openInput opens standard input. Reading starts at its current position.
func openInput(path string, patience time.Duration) (io.ReadCloser, error) {
	shown := fmt.Sprintf("data file %s, standard input,", quote.Word(path))
	info, err := os.Stdin.Stat()
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", shown, cause(err))
	}
	switch mode := info.Mode(); {
	case mode&os.ModeNamedPipe != 0:
		// The file is opened anew, because setting the shared descriptor to non-blocking would affect other processes.
		return openPipe(fmt.Sprintf("/proc/self/fd/%d", os.Stdin.Fd()), shown, patience)
	case mode.IsRegular():
		at, err := os.Stdin.Seek(0, io.SeekCurrent)
		return io.NopCloser(io.NewSectionReader(os.Stdin, at, math.MaxInt64-at)), err
	case mode&os.ModeCharDevice != 0:
		return nil,
			fmt.Errorf("%s is a device: give psbench a file or a pipe there; the runs of a sweep and processes of other hosts do not have it", shown)
	}
	return io.NopCloser(os.Stdin), nil
}
