package launch

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// pipe is the read end of a pipe. pipe closes end when a reader has reached the end of the pipe. pipe copies all data
// to copied first, because go-plugin passes on the last line only some time after the end.
type pipe struct {
	*os.File
	copied io.Writer
	ended  func() // called before end is closed; may be nil
	end    chan struct{}
	once   sync.Once
}

func newPipe(copied io.Writer) (*pipe, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("a pipe for a plugin cannot be made: %w", err)
	}
	return &pipe{File: r, copied: copied, end: make(chan struct{})}, w, nil
}

func (p *pipe) Read(b []byte) (int, error) {
	n, err := p.File.Read(b)
	_, _ = p.copied.Write(b[:n]) // words accepts all output
	if err != nil {
		p.once.Do(func() {
			if p.ended != nil {
				p.ended()
			}
			close(p.end)
		})
		_ = p.Close()
	}
	return n, err
}

// leftover is how long pipes are read after their process has ended. A grandchild may still print.
const leftover = 50 * time.Millisecond

func (p *pipe) expire() { _ = p.SetReadDeadline(time.Now().Add(leftover)) }
