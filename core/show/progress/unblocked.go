package progress

import (
	"io"
	"strings"
	"sync"
	"time"
)

// mostPending is the maximum size of unread output, in bytes.
const mostPending = 256 << 10

// unblocked prints to a writer without waiting for a slow or stalled reader. If too much output is unread, it drops
// further lines.
type unblocked struct {
	w    io.Writer
	note func(lines int) string // returns the text that replaces dropped lines

	mu      sync.Mutex
	pending []byte
	dropped int           // number of lines since pending was full
	written chan struct{} // closed once everything is written; nil while idle
}

// print queues whole lines, or an optional part of a line.
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

// offer queues an optional text. It drops the text if earlier output is still unread.
func (u *unblocked) offer(text string) (taken bool) {
	u.mu.Lock()
	waits := u.written != nil
	u.mu.Unlock()
	if !waits {
		u.print(text)
	}
	return !waits
}

// write writes the pending output and returns when none is left.
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

// wait returns once everything is written, or after limit, because a blocked write cannot be interrupted.
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
