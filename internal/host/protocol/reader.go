package protocol

import (
	"cmp"
	"fmt"
	"time"

	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/quote"
)

// look is how long who awaits something looks for it: to sleep and to be woken takes some 100 µs, so that
// a call that takes longer loses little by it.
const look = 3 * time.Millisecond

// readAll is the reader's life.
func (l *link) readAll() {
	defer close(l.read)
	for l.readOne() {
	}
}

// readOne takes the next frame; false: there will be none any more. One goroutine at a time may call it.
func (l *link) readOne() bool {
	if l.over {
		return false
	}
	err := l.conn.NextHeader(&l.frame)
	if err == nil {
		err = l.handle(&l.frame)
	}
	if err != nil {
		l.over = true
		l.end(err)
	}
	return err == nil
}

// pause is how often the reader looks whether a part says something between calls.
const pause = 100 * time.Millisecond

// readDebts is the reader's life where who called or waits reads, too: it reads while something is owed that
// it is to read, and now and then what the part says of itself.
func (l *link) readDebts() {
	defer close(l.read)
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-l.wanted:
			l.reading.Lock()
			for l.owed() && l.readOne() {
			}
			l.reading.Unlock()
		case <-tick.C:
			if l.reading.TryLock() { // else another goroutine reads
				l.reading.Unlock()
				l.readEarly()
			}
		case <-l.closed:
			l.readRest()
			return
		}
	}
}

// readEarly reads what the part has said before it is asked: it answers nothing.
func (l *link) readEarly() {
	l.reading.Lock()
	defer l.reading.Unlock()
	for l.conn.Ready() && l.readOne() {
	}
}

// want has the reader read what is owed. It comes after the frame that asks for it, since to wake the
// reader takes as long as to wake the part.
func (l *link) want() {
	select {
	case l.wanted <- struct{}{}:
	default: // it knows, or it reads without being asked
	}
}

// readRest awaits the end of all that the part has said.
func (l *link) readRest() {
	l.reading.Lock()
	defer l.reading.Unlock()
	for l.readOne() {
	}
}

// handle takes a frame of the part.
func (l *link) handle(h *wire.Header) error {
	text, err := l.readText(h)
	if err != nil {
		return err
	}
	switch h.Op {
	case opFailed:
		why := cmp.Or(quote.Message(string(text)), "it failed, and did not say why")
		return fmt.Errorf("%s: %s", l.conn.Peer(), why)
	case opOrigin:
		if !l.awaits(h.Op) {
			return l.unasked(h)
		}
		l.text = text
	case opTensor:
		return l.announced(h)
	case opMemory:
		return l.lend(h)
	}
	if l.answered(h) {
		select {
		case l.answers <- *h:
			return nil
		default:
			return l.wrong("sent more gradients in a backward pass than it has parameters")
		}
	}
	if l.take == nil {
		return l.unasked(h)
	}
	return l.take(h)
}

// readText reads the text of a frame that may have one.
func (l *link) readText(h *wire.Header) ([]byte, error) {
	if h.Payload == 0 {
		return nil, nil
	}
	if h.Op != opFailed && h.Op != opOrigin || h.Payload > maxText {
		return nil, l.wrong("sent %s with %d bytes after its header", describe(h), h.Payload)
	}
	text := make([]byte, h.Payload)
	return text, l.conn.Fill(text)
}

// awaits says whether a call with this operation has no answer yet.
func (l *link) awaits(op wire.Op) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pending == op
}

// answered says that a frame goes to who called: the answer, after which nothing is owed, or a
// gradient before it.
func (l *link) answered(h *wire.Header) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.pending == 0:
		return false
	case h.Op == l.pending:
		l.pending = 0
		l.came(&l.calling)
		return true
	}
	return h.Op == opGradient && (l.pending == opBackward || l.pending == opBackwardInput)
}

// unasked is the error of a frame that the part was not to send.
func (l *link) unasked(h *wire.Header) error {
	return l.wrong("sent %s, which nobody asked for", describe(h))
}
