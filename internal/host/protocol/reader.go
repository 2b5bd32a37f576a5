package protocol

import (
	"cmp"
	"fmt"
	"time"

	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/quote"
)

// look is how long a waiter polls before it sleeps. Sleeping and waking up takes about 100 µs, so a
// call that takes longer than look loses little.
const look = 3 * time.Millisecond

// readAll is the main loop of the reader if only the reader reads.
func (l *link) readAll() {
	defer close(l.read)
	for l.readOne() {
	}
}

// readOne handles the next frame. readOne returns false if no more frames will come. Only one
// goroutine at a time may call readOne.
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

// pause is the interval at which the reader checks for frames between calls.
const pause = 100 * time.Millisecond

// readDebts is the main loop of the reader if callers or waiters read too. readDebts reads while
// the part owes a frame that the reader must read. Now and then, readDebts also checks for
// unrequested frames.
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
			if l.reading.TryLock() { // otherwise another goroutine reads
				l.reading.Unlock()
				l.readEarly()
			}
		case <-l.closed:
			l.readRest()
			return
		}
	}
}

// readEarly reads frames that the part sent before a call. Such frames answer no call.
func (l *link) readEarly() {
	l.reading.Lock()
	defer l.reading.Unlock()
	for l.conn.Ready() && l.readOne() {
	}
}

// want tells the reader to read the owed frames. Call want after sending the frame that asks for
// them, because waking the reader takes as long as waking the part.
func (l *link) want() {
	select {
	case l.wanted <- struct{}{}:
	default: // the reader already knows, or reads all the time
	}
}

// readRest reads until the part's frames end.
func (l *link) readRest() {
	l.reading.Lock()
	defer l.reading.Unlock()
	for l.readOne() {
	}
}

// handle handles a frame of the part.
func (l *link) handle(h *wire.Header) error {
	text, err := l.readText(h)
	if err != nil {
		return err
	}
	switch h.Op {
	case opFailed:
		why := cmp.Or(quote.Message(string(text)), "it failed without giving a reason")
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

// readText reads the text of a frame, if it has one.
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

// awaits reports whether a call with this operation is still waiting for its answer.
func (l *link) awaits(op wire.Op) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pending == op
}

// answered records that a frame goes to the caller and returns true. The frame is the answer, which
// settles the debt, or a gradient that precedes it.
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

// unasked returns the error for a frame that the part should not have sent.
func (l *link) unasked(h *wire.Header) error {
	return l.wrong("sent %s, which was not requested", describe(h))
}
