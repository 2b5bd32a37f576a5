package server

import (
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// shareElements is how much a participant takes at a time, 32 KiB.
	shareElements = 8 << 10
	// splitElements is the least work that is split over cores, 256 KiB: less is
	// done before another core is awake.
	splitElements = 64 << 10
)

// job is work on elements that are independent of each other.
type job interface {
	// elements is how many there are.
	elements() int
	// run works on elements from to to as the participant w.
	run(w *worker, from, to int)
}

// worker is what one participant in a job keeps to itself.
type worker struct {
	parts [][]float32   // views of a block, by trainer
	meter meter         // of the calls that the job times
	wake  chan struct{} // holds a token if there may be work
}

// crew splits jobs over the cores: whoever brings a job works on it himself, and
// goroutines that are parked between jobs help. A helper that wakes up late finds
// the job closed and does nothing, so nobody waits for it.
type crew struct {
	busy    sync.Mutex // held for the length of a job
	helpers []*worker

	// door is locked between jobs. Helpers hold it for reading while they work, so
	// that locking it again waits for those inside and keeps the others out.
	door sync.RWMutex
	job  job
	next atomic.Int64 // the next share
}

// newCrew makes a crew for reductions of parts gradients that uses all cores. Its
// goroutines run in group until done is closed.
func newCrew(parts int, group *sync.WaitGroup, done <-chan struct{}) *crew {
	c := &crew{}
	c.door.Lock()
	for range runtime.GOMAXPROCS(0) - 1 {
		w := &worker{parts: make([][]float32, parts), wake: make(chan struct{}, 1)}
		c.helpers = append(c.helpers, w)
		group.Go(func() { c.help(w, done) })
	}
	return c
}

// run does all of j and returns the longest time that a participant spent in what
// the job times, in ns. The caller works as own. If the crew has a job already, the
// caller works alone.
func (c *crew) run(j job, own *worker) int64 {
	own.meter = meter{}
	n := j.elements()
	if n < splitElements || len(c.helpers) == 0 || !c.busy.TryLock() {
		j.run(own, 0, n)
		return own.meter.spentNS()
	}
	defer c.busy.Unlock()
	c.job = j
	c.next.Store(0)
	for _, w := range c.helpers {
		w.meter = meter{}
	}
	c.door.Unlock()
	shares := (n + shareElements - 1) / shareElements
	for _, w := range c.helpers[:min(len(c.helpers), shares-1)] {
		select {
		case w.wake <- struct{}{}:
		default: // it has a token
		}
	}
	c.work(own)
	c.door.Lock()
	c.job = nil
	return c.longest(own)
}

// longest is the most that a participant in the last job spent.
func (c *crew) longest(own *worker) int64 {
	ns := own.meter.spentNS()
	for _, w := range c.helpers {
		ns = max(ns, w.meter.spentNS())
	}
	return ns
}

// work takes share after share until none is left.
func (c *crew) work(w *worker) {
	n := c.job.elements()
	for {
		from := int(c.next.Add(1)-1) * shareElements
		if from >= n {
			return
		}
		c.job.run(w, from, min(from+shareElements, n))
	}
}

func (c *crew) help(w *worker, done <-chan struct{}) {
	for {
		select {
		case <-w.wake:
		case <-done:
			return
		}
		if c.door.TryRLock() {
			c.work(w)
			c.door.RUnlock()
		}
	}
}
