package server

import (
	"math"
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

	// exactBlocks is how many blocks of a job each worker times in any case: among them
	// is the first one, which pays for what the caches lost meanwhile and speaks for no
	// other.
	exactBlocks = 8
	// blockStride is the distance of the blocks that are timed after them. It is odd, so
	// that they fall on every place in a share of blocks, in a page and in a huge page,
	// whose sizes are powers of two.
	blockStride = 5
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
	parts  [][]float32   // views of a block, by trainer
	pieces [][]float32   // pieces that are worked on, by trainer
	meter  meter         // of the calls that the job times
	wake   chan struct{} // holds a token if there may be work
}

// meter finds out how long a worker spent in the calls of a job that are to be timed,
// without reading the clock around each block. Two readings take 50 to 80 ns, and average
// divides a block in about as much, of 1 µs that it works on it. So the first blocks are
// timed and then every fifth, which stands for its neighbours: 1 to 2 % of the work on a
// large bucket.
//
// Up to 9 blocks are timed in full. Beyond that the error of the estimate is the difference
// between sampled blocks and the mean of the blocks that they stand for. If the time per element
// of the blocks differs by at most a share d, up to a third, the error is below 2d, however long
// the first blocks took. A long interruption of a worker breaks this bound: it counts five times
// in a sampled block and not at all elsewhere, which is right only on average.
//
// The zero meter has seen no block.
type meter struct {
	blocks        int
	exactNS       float64 // spent on the first blocks
	sampledNS     float64 // spent on the sampled ones of the others
	sampled, rest int64   // elements of the sampled ones, and of all others
}

// next takes note of a block and says whether it is to be timed, and then given to add.
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

// spentNS is how long all blocks took.
func (m *meter) spentNS() int64 {
	ns := m.exactNS
	if m.sampled > 0 {
		ns += m.sampledNS * float64(m.rest) / float64(m.sampled)
	}
	return int64(math.Round(max(0, ns)))
}

// pool splits jobs over the cores. The caller works on its job itself, and parked
// goroutines help. A helper that wakes up late finds the job closed and does
// nothing, so the caller does not wait for it.
type pool struct {
	busy    sync.Mutex // held for the length of a job
	helpers []*worker

	// gate is locked between jobs. Helpers hold it for reading while they work, so
	// that locking it again waits for those inside and keeps the others out.
	gate sync.RWMutex
	job  job
	next atomic.Int64 // the next share
}

// newPool makes a pool for reductions of parts gradients that uses all cores. Its
// goroutines run in group until done is closed.
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

// run does all of j and returns the longest time that a participant spent in what
// the job times, in ns. The caller works as own. If the pool has a job already, the
// caller works alone.
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
		default: // it has a token
		}
	}
	p.work(own)
	p.gate.Lock()
	p.job = nil
	return p.longest(own)
}

// runAlone is run by the caller alone.
func runAlone(j job, own *worker) int64 {
	own.meter = meter{}
	j.run(own, 0, j.elements())
	return own.meter.spentNS()
}

// longest is the most that a participant in the last job spent.
func (p *pool) longest(own *worker) int64 {
	ns := own.meter.spentNS()
	for _, w := range p.helpers {
		ns = max(ns, w.meter.spentNS())
	}
	return ns
}

// work takes share after share until none is left.
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
