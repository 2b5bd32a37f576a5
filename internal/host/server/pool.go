package server

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// shareElements is the number of elements that a participant takes at a time, 32 KiB.
	shareElements = 8 << 10
	// splitElements is the smallest job that is split over cores, 256 KiB. A smaller job is done
	// before another core wakes up.
	splitElements = 64 << 10

	// exactBlocks is the number of blocks that each worker always measures, its first ones of a job.
	// A worker's first block pays for cache misses and is not typical of the others.
	exactBlocks = 8
	// blockStride is the distance between the measured blocks after the first ones. The distance is
	// odd, so that measured blocks cover every position in a share, a page and a huge page. The sizes
	// of all three are powers of two.
	blockStride = 5
)

// job is work on elements that can be processed independently.
type job interface {
	// elements returns the number of elements.
	elements() int
	// run works on the elements i with from <= i < to, as participant w.
	run(w *worker, from, to int)
}

// worker is the private state of one participant in a job.
type worker struct {
	parts  [][]float32   // views of a block, by trainer
	pieces [][]float32   // current pieces, by trainer
	meter  meter         // measures the calls that the job times
	wake   chan struct{} // holds a token if there may be work
}

// meter estimates how long a worker spent in the timed calls of a job, without reading the clock
// around each block. Two readings take 50 to 80 ns. The server average divides one block in about
// the same time, and works 1 µs on the block in total. So meter measures the first blocks and then
// every fifth block, which stands for its neighbours. Measuring costs 1 to 2 % of the work on a
// large bucket.
//
// Up to 9 blocks are measured in full. With more blocks, the error is the difference between the
// sampled blocks and the mean of the blocks that they represent. If the blocks' times per element
// differ by at most a share d, up to a third, the error is below 2d. The time of the first blocks
// does not matter.
//
// A long interruption of a worker breaks this bound. The interruption counts five times in a
// sampled block and not at all in another one, which is right only on average.
//
// The zero meter has seen no block.
type meter struct {
	blocks        int
	exactNS       float64 // time spent on the first blocks
	sampledNS     float64 // time spent on the sampled later blocks
	sampled, rest int64   // elements of sampled later blocks, and of all later blocks
}

// next counts a block and reports whether to measure it. The caller then passes the time to add.
func (m *meter) next(elements int) (timed bool) {
	index := m.blocks - exactBlocks
	m.blocks++
	if index < 0 {
		return true
	}
	m.rest += int64(elements)
	if index%blockStride != 0 {
		return false
	}
	m.sampled += int64(elements)
	return true
}

func (m *meter) add(ns float64) {
	if m.blocks <= exactBlocks {
		m.exactNS += ns
	} else {
		m.sampledNS += ns
	}
}

// spentNS returns the estimated time of all blocks in ns.
func (m *meter) spentNS() int64 {
	ns := m.exactNS
	if m.sampled > 0 {
		ns += m.sampledNS * float64(m.rest) / float64(m.sampled)
	}
	return int64(math.Round(max(0, ns)))
}

// pool splits jobs over the cores. The caller works on its own job, and parked goroutines help. A
// helper that wakes up late finds the job closed and does nothing, so the caller does not wait for
// it.
type pool struct {
	busy    sync.Mutex // held during a job
	helpers []*worker

	// gate is locked between jobs. Helpers hold the read lock while they work. Locking the gate again
	// therefore waits for working helpers and keeps other helpers out.
	gate sync.RWMutex
	job  job
	next atomic.Int64 // index of the next share
}

// newPool makes a pool that uses all cores for reductions of parts gradients. The pool's goroutines
// run in group until done is closed.
func newPool(parts int, group *sync.WaitGroup, done <-chan struct{}) *pool {
	p := &pool{}
	p.gate.Lock()
	for range runtime.GOMAXPROCS(0) - 1 {
		w := &worker{parts: make([][]float32, parts), wake: make(chan struct{}, 1)}
		p.helpers = append(p.helpers, w)
		group.Go(func() { p.help(w, done) })
	}
	return p
}

// run completes job j. run returns the longest time, in ns, that a participant spent in the calls
// that the job times. The caller works as own. If the pool already has a job, the caller works
// alone.
func (p *pool) run(j job, own *worker) int64 {
	n := j.elements()
	if n < splitElements || len(p.helpers) == 0 || !p.busy.TryLock() {
		return runAlone(j, own)
	}
	defer p.busy.Unlock()
	own.meter = meter{}
	p.job = j
	p.next.Store(0)
	for _, w := range p.helpers {
		w.meter = meter{}
	}
	p.gate.Unlock()
	shares := (n + shareElements - 1) / shareElements
	for _, w := range p.helpers[:min(len(p.helpers), shares-1)] {
		select {
		case w.wake <- struct{}{}:
		default: // the helper already has a token
		}
	}
	p.work(own)
	p.gate.Lock()
	p.job = nil
	return p.longest(own)
}

// runAlone is like run without helpers.
func runAlone(j job, own *worker) int64 {
	own.meter = meter{}
	j.run(own, 0, j.elements())
	return own.meter.spentNS()
}

// longest returns the longest time, in ns, that a participant spent in the last job.
func (p *pool) longest(own *worker) int64 {
	ns := own.meter.spentNS()
	for _, w := range p.helpers {
		ns = max(ns, w.meter.spentNS())
	}
	return ns
}

// work takes one share after another until none is left.
func (p *pool) work(w *worker) {
	n := p.job.elements()
	for {
		from := int(p.next.Add(1)-1) * shareElements
		if from >= n {
			return
		}
		p.job.run(w, from, min(from+shareElements, n))
	}
}

func (p *pool) help(w *worker, done <-chan struct{}) {
	for {
		select {
		case <-w.wake:
		case <-done:
			return
		}
		if p.gate.TryRLock() {
			p.work(w)
			p.gate.RUnlock()
		}
	}
}
