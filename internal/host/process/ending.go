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

// closeGrace is the first wait for parts to finish their work when a process ends.
const closeGrace = 100 * time.Millisecond

// ending closes the resources of a process in this order: the work of its parts, the parts, the memory that its
// engine adopted, the engine, the links, and the memory that all of these use. Within each sort, the last one closes
// first.
type ending struct {
	// Working is read-locked while a part works in memory that links share.
	Working sync.RWMutex

	mu            sync.Mutex
	closers       []closer // parts
	engine        []closer // the engine and what it adopted
	links, memory []io.Closer
	broken        bool // links end at once

	closing sync.Mutex // locked while the process ends
	resting bool       // Working is locked for good
	stuck   bool       // a part did not stop working
	ended   bool

	lost atomic.Bool // the process has reported a lost engine to the core
}

// closer is a resource to close, with its name in errors.
type closer struct {
	title string
	io.Closer
}

// Closes registers a part, if it is an io.Closer, to be closed before all that were registered earlier.
func (e *ending) Closes(title string, part any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c, ok := part.(io.Closer); ok {
		e.closers = append(e.closers, closer{title, c})
	}
}

// closesEngine registers the engine, or what it adopted, to be closed after all parts.
func (e *ending) closesEngine(title string, c io.Closer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.engine = append(e.engine, closer{title, c})
}

// Own registers a link for Close.
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

// CloseParts closes the parts that are an io.Closer, once none works any more, and then the
// engine. All of them together may take as long as limit, and what is left of it when one does not
// return the next one gets, closeGrace at least. The error is a sentence that names each one that
// failed, or is not closed. To close again does nothing. The engine stays open while something
// that does not return may compute on it.
//
// A part at work may wait for a process that has ended its work: a trainer that is interrupted
// may be an iteration behind another one. So if the part does not end soon, the links are broken.
// This ends all waits on them, but releases no memory.
//
// A lost engine may fail each part. The core gets that error only once.
func (e *ending) CloseParts(limit time.Duration) error {
	e.closing.Lock()
	defer e.closing.Unlock()
	if len(e.titles()) == 0 {
		return nil
	}
	deadline := time.Now().Add(limit)
	if !e.rest(min(limit, closeGrace)) {
		go e.breakLinks() // some wait for what runs on them, a part perhaps, so this may never end
		if !e.rest(time.Until(deadline)) {
			e.stuck = true
			return &fault.Part{Text: fmt.Sprintf("a part is still at work after %g s, so that %s cannot be closed",
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

// Tells notes what an error is about to tell the core, and says whether that is news: that the engine is
// lost it is once.
func (e *ending) Tells(err error) bool { return !engine.Lost(err) || !e.lost.Swap(true) }

// titles are those of what is yet to be closed.
func (e *ending) titles() (titles []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range slices.Concat(e.closers, e.engine[:min(1, len(e.engine))]) { // what it adopted goes with it
		titles = append(titles, c.title)
	}
	return titles
}

// takeClosers gives up what is yet to be closed, in order.
func (e *ending) takeClosers() (parts, engine []closer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	parts, engine = e.closers, e.engine
	e.closers, e.engine = nil, nil
	slices.Reverse(parts)
	slices.Reverse(engine)
	return parts, engine
}

// closeWithin closes it, unless that does not return within the limit: then its goroutine
// is left to the end of the process.
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

// rest says whether no part works, nor will any more. It waits for that no longer than limit.
func (e *ending) rest(limit time.Duration) bool {
	if !e.resting && !e.stuck {
		e.resting = Within(limit, e.Working.TryLock)
	}
	return e.resting && !e.stuck
}

// breakLinks ends all links, also those to come.
func (e *ending) breakLinks() {
	e.mu.Lock()
	e.broken = true
	links := slices.Clone(e.links)
	e.mu.Unlock()
	for _, link := range slices.Backward(links) {
		_ = link.Close() // waiters get the error, and the run is over
	}
}

// Within tries until it succeeds or some time is over.
func Within(limit time.Duration, try func() bool) bool {
	for start := time.Now(); !try(); time.Sleep(time.Millisecond) {
		if time.Since(start) > limit {
			return false
		}
	}
	return true
}
