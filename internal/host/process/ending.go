package process

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/sdk/engine"
)

// closeGrace is the first wait, when a process ends, for its parts to stop working.
const closeGrace = 100 * time.Millisecond

// ending ends the running calls of parts and then closes the resources of a process. The order is
// parts, memory that the engine adopted, the engine, links, and the memory that all of these use.
// Within each kind, the last one registered closes first.
type ending struct {
	// Working is read-locked while a part works in memory that links share.
	Working sync.RWMutex

	mu            sync.Mutex
	closers       []closer // parts
	engine        []closer // the engine and the memory that it adopted
	links, memory []io.Closer
	broken        bool // new links are closed at once

	closing sync.Mutex // locked while the process ends
	resting bool       // Working stays locked for good
	stuck   bool       // a part did not stop working
	ended   bool

	lost atomic.Bool // the process has reported a lost engine to the core
}

// closer is a resource to close, with its name in errors.
type closer struct {
	title string
	io.Closer
}

// Closes registers a part for closing, if it is an io.Closer. The part closes before all parts that
// were registered earlier.
func (e *ending) Closes(title string, part any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c, ok := part.(io.Closer); ok {
		e.closers = append(e.closers, closer{title, c})
	}
}

// closesEngine registers the engine, or memory that it adopted, for closing after all parts.
func (e *ending) closesEngine(title string, c io.Closer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.engine = append(e.engine, closer{title, c})
}

// Own registers a link for closing.
func (e *ending) Own(link io.Closer) {
	e.mu.Lock()
	e.links = append(e.links, link)
	broken := e.broken
	e.mu.Unlock()
	if broken {
		_ = link.Close()
	}
}

// OwnMemory registers memory that Close releases once no link uses it.
func (e *ending) OwnMemory(memory io.Closer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.memory = append(e.memory, memory)
}

// CloseParts closes all parts that are an io.Closer, once no part is working, and then the engine.
// All of them share the time limit, but each gets at least closeGrace. The error is one sentence
// that names each part that failed or did not close. A second call does nothing. The engine stays
// open while an unfinished Close may still compute on it.
//
// A working part may be waiting for a process that has already stopped. For example, an interrupted
// trainer may be one iteration behind another. So if a part does not finish soon, CloseParts breaks
// the links. Breaking a link ends all waits on it but releases no memory.
//
// A lost engine may make every part fail. The core gets that error only once.
func (e *ending) CloseParts(limit time.Duration) error {
	e.closing.Lock()
	defer e.closing.Unlock()
	if len(e.titles()) == 0 {
		return nil
	}
	deadline := time.Now().Add(limit)
	if !e.rest(min(limit, closeGrace)) {
		go e.breakLinks() // closing may wait for a part, for ever
		if !e.rest(time.Until(deadline)) {
			e.stuck = true
			return &fault.Part{Text: fmt.Sprintf("a part is still working after %g s, so %s cannot be closed",
				limit.Seconds(), comm.JoinNames(e.titles()))}
		}
	}
	var failures []string
	closing := func(c closer) {
		switch returned, err := c.closeWithin(max(time.Until(deadline), closeGrace)); {
		case !returned:
			e.stuck = true
			failures = append(failures, fmt.Sprintf("%s is not closed after %g s", c.title, limit.Seconds()))
		case err != nil && e.Tells(err):
			failures = append(failures, fault.Of(c.title, "Close", err).Error())
		}
	}
	parts, engine := e.takeClosers()
	for _, c := range parts {
		closing(c)
	}
	for _, c := range engine {
		if !e.stuck {
			closing(c)
		}
	}
	if len(failures) == 0 {
		return nil
	}
	return &fault.Part{Text: strings.Join(failures, "; ")}
}

// Tells reports whether the core should get an error. The loss of the engine is reported only once.
func (e *ending) Tells(err error) bool { return !engine.Lost(err) || !e.lost.Swap(true) }

// titles returns the titles of the resources that are not closed so far.
func (e *ending) titles() (titles []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range slices.Concat(e.closers, e.engine[:min(1, len(e.engine))]) { // adopted memory is the engine's
		titles = append(titles, c.title)
	}
	return titles
}

// takeClosers removes and returns the resources to close, in closing order.
func (e *ending) takeClosers() (parts, engine []closer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	parts, engine = e.closers, e.engine
	e.closers, e.engine = nil, nil
	slices.Reverse(parts)
	slices.Reverse(engine)
	return parts, engine
}

// closeWithin calls Close and waits for it at most limit. A goroutine whose Close does not return
// stays until the process ends.
func (c *closer) closeWithin(limit time.Duration) (returned bool, err error) {
	ended := make(chan error, 1)
	go func() { ended <- c.Close() }()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case err := <-ended:
		return true, err
	case <-late.C:
		return false, nil
	}
}

// rest reports whether all parts have stopped working for good. rest waits at most limit for that.
func (e *ending) rest(limit time.Duration) bool {
	if !e.resting && !e.stuck {
		e.resting = Within(limit, e.Working.TryLock)
	}
	return e.resting && !e.stuck
}

// breakLinks closes all links. Later links are closed as soon as they are registered.
func (e *ending) breakLinks() {
	e.mu.Lock()
	e.broken = true
	links := slices.Clone(e.links)
	e.mu.Unlock()
	for _, link := range slices.Backward(links) {
		_ = link.Close() // waiters get the error, and the run is over
	}
}

// Within calls try until it returns true or limit has passed.
func Within(limit time.Duration, try func() bool) bool {
	for start := time.Now(); !try(); time.Sleep(time.Millisecond) {
		if time.Since(start) > limit {
			return false
		}
	}
	return true
}
