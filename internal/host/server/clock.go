package server

import (
	"math"
	"sync"

	"github.com/psbench/psbench/comm"
)

// clock measures reductions. The time between two readings includes the cost of one reading. The
// measured work may be just as short, so clock subtracts that cost.
//
// Sums of times are corrected too. The cost is therefore not rounded to whole ns, and a single
// corrected time may be below 0.
type clock struct {
	now       func() int64 // ns
	readingNS float64
}

// since returns the time since a reading, less the cost of the reading.
func (c *clock) since(startNS int64) float64 { return float64(c.now()-startNS) - c.readingNS }

// monotonic is the clock of all measurements.
var monotonic = sync.OnceValue(func() clock { return newClock(comm.Now) })

// newClock measures the cost of one reading of now. newClock takes the mean of many readings in a
// row. Of several rows, newClock uses the fastest, which nothing interrupted.
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
