package progress

import (
	"io"
	"strings"
	"sync"
	"time"
)

// mostPending bounds what waits for a reader, in bytes.
const mostPending = 256 << 10

// unblocked prints to a writer whose reader may be slow, or have stopped, without
// waiting for it. Once too many lines are unread, it drops further ones.
type unblocked struct {
	w    io.Writer
	note func(lines int) string // what is printed in the place of lines that were dropped

	mu      sync.Mutex
	pending []byte
	dropped int           // lines since pending was full
	written chan struct{} // closed once all is written; nil while nothing is being written
}

// print takes whole lines, or a dispensable piece of one.
func (u *unblocked) print(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.dropped > 0 || len(u.pending)+len(text) > mostPending {
		u.dropped += strings.Count(text, "\n")
		return
	}
	u.pending = append(u.pending, text...)
	if u.written == nil {
		u.written = make(chan struct{})
		go u.write()
	}
}

// offer prints a dispensable text unless earlier output still waits for the reader.
func (u *unblocked) offer(text string) (taken bool) {
	u.mu.Lock()
	waits := u.written != nil
	u.mu.Unlock()
	if !waits {
		u.print(text)
	}
	return !waits
}

// write ends when there is nothing left to write.
func (u *unblocked) write() {
	for {
		text := u.take()
		if text == nil {
			return
		}
		_, _ = u.w.Write(text)
	}
}

func (u *unblocked) take() []byte {
	u.mu.Lock()
	defer u.mu.Unlock()
	text := u.pending
	if u.dropped > 0 {
		text = append(text, u.note(u.dropped)...)
	}
	u.pending, u.dropped = nil, 0
	if len(text) == 0 {
		close(u.written)
		u.written = nil
		return nil
	}
	return text
}

// wait returns once all is written, or after limit: a write that blocks cannot be ended.
func (u *unblocked) wait(limit time.Duration) {
	u.mu.Lock()
	written := u.written
	u.mu.Unlock()
	if written == nil {
		return
	}
	select {
	case <-written:
	case <-time.After(limit):
	}
}
