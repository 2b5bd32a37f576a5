package server

import (
	"math"
	"sync"

	"github.com/psbench/psbench/comm"
)

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
