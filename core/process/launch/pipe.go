package launch

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// pipe is the read end of a pipe that reports when it was read to its end. It copies to copied first, because
// go-plugin passes on a last line only some time after the end.
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
	_, _ = p.copied.Write(b[:n]) // words take everything
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

// leftover is how long pipes are still read after the end of their process, for output of a grandchild.
const leftover = 50 * time.Millisecond

func (p *pipe) expire() { _ = p.SetReadDeadline(time.Now().Add(leftover)) }
