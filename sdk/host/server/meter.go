package server

import (
	"math"
	"sync"

	"github.com/psbench/psbench/comm"
)

const (
	// exactBlocks is how many blocks of a job each worker times in any case: among them
	// is the first one, which pays for what the caches lost meanwhile and speaks for no
	// other.
	exactBlocks = 8
	// blockStride is the distance of the blocks that are timed after them. It is odd, so
	// that they fall on every place in a share of blocks, in a page and in a huge page,
	// whose sizes are powers of two.
	blockStride = 5
)

// meter finds out how long a worker spent in the calls of a job that are to be timed,
// without reading the clock around each block. Two readings take 50 to 80 ns, and average
// divides a block in about as much, of 1 µs that it works on it. So the first blocks are
// timed and then every fifth, which stands for its neighbours: 1 to 2 % of the work on a
// large bucket.
//
// Up to 9 blocks are timed in full. Beyond that the estimate is wrong by how far the
// sampled blocks are from the mean of those that they stand for. If each of these takes,
// for its elements, the same time but for a share d, up to a third, then the estimate is
// wrong by less than 2d at worst, however long the first blocks took. What interrupts a
// worker for long breaks that: it counts five times if it falls into a sampled block,
// else not at all, which is right only on average.
//
// The zero meter has seen no block.
type meter struct {
	blocks        int
	exactNS       float64 // spent on the first blocks
	sampledNS     float64 // spent on those that were timed of the others
	sampled, rest int64   // elements: of those that were timed of the others, of all others
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

// clock is what a reduction reads. Between two readings lies one reading more than what
// is timed, and what is timed may be as short: so its cost is taken off. It is
// taken off sums too, therefore it is no whole number of ns, and what is left of a
// single block may be below 0.
type clock struct {
	now       func() int64 // ns
	readingNS float64
}

// since is how long it is since a reading, less what reading took.
func (c *clock) since(startNS int64) float64 { return float64(c.now()-startNS) - c.readingNS }

// monotonic is the clock of all measurements.
var monotonic = sync.OnceValue(func() clock { return newClock(comm.Now) })

// newClock finds out what a reading of now costs: the mean of many in a row, and of
// several such rows the quickest, in which nothing came between.
func newClock(now func() int64) clock {
	const rows, readings = 16, 64
	c := clock{now, math.Inf(1)}
	for range rows {
		start, end := now(), int64(0)
		for range readings {
			end = now()
		}
		c.readingNS = min(c.readingNS, float64(end-start)/readings)
	}
	return c
}
