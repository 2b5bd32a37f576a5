// Package clocks estimates the offset and drift of another host's clock relative to the core's clock, and bounds the
// error.
package clocks

import (
	"math"
	"slices"
	"time"
)

// Exchange is one question to the other clock, with its answer.
type Exchange struct {
	SentNS     int64 // before the question, on this clock
	RemoteNS   int64 // the answer: a reading of the other clock
	ReceivedNS int64 // after the answer, on this clock
}

// bounds returns the smallest and the largest time by which the other clock may have been ahead at its reading. The
// other clock was read at an unknown moment between question and answer.
func (e Exchange) bounds() (least, most float64) {
	return float64(e.RemoteNS - e.ReceivedNS), float64(e.RemoteNS - e.SentNS)
}

// roundTripNS returns the duration of the exchange.
func (e Exchange) roundTripNS() int64 { return e.ReceivedNS - e.SentNS }

// Estimate is a straight line that says how far another clock is ahead of this clock. The zero Estimate describes this
// clock itself.
type Estimate struct {
	// When the other clock read AtNS, it was OffsetNS ahead. Since then it has gained Drift ns per ns. A Drift of 1e-6
	// is one part in a million.
	AtNS     int64   `json:"at_ns"`
	OffsetNS int64   `json:"offset_ns"`
	Drift    float64 `json:"drift"`
	// BoundNS is the largest error of the line, from the end of the first exchange until the estimate was made.
	BoundNS int64 `json:"bound_ns"`
}

// Ahead returns by how many ns the other clock is ahead when it reads ns.
func (e Estimate) Ahead(ns int64) int64 {
	return e.OffsetNS + int64(math.Round(e.Drift*float64(ns-e.AtNS)))
}

// Here returns the reading of this clock when the other clock reads ns. The error is at most BoundNS.
func (e Estimate) Here(ns int64) int64 { return ns - e.Ahead(ns) }

// Of returns the estimate of a clock that is ahead by a constant time.
func Of(ahead time.Duration) Estimate { return Estimate{OffsetNS: int64(ahead)} }

// steadiest is the drift that is assumed to be possible for every clock. The crystal of each of the two hosts may drift
// by about 50 parts in a million.
const steadiest = 100e-6

// estimate fits a line to exchanges. estimate bounds the error of the line from the end of the first exchange until
// endNS on this clock.
//
// Each exchange bounds the offset at one moment. Because drift is limited, the exchange also bounds the offset at all
// other moments, and this bound widens with the distance in time. The intersection of all bounds is a corridor. The
// line goes through the middles of the corridor's ends. The error bound of the line is the largest distance between
// corridor and line. The offset itself need not be a straight line: while a clock warms up or is disciplined, its
// offset still stays in the corridor. If an exchange lies outside the corridor of the others, the clock drifts more
// than assumed, and estimate tries again with twice the drift. The method is Marzullo's intersection of intervals, with
// drift as in Cristian's algorithm. estimate takes O(n log n) time for n exchanges.
func estimate(exchanges []Exchange, endNS int64) Estimate {
	if len(exchanges) == 0 {
		return Estimate{BoundNS: math.MaxInt64}
	}
	all := slices.SortedFunc(slices.Values(exchanges), func(a, b Exchange) int { return int(a.RemoteNS - b.RemoteNS) })
	drift := steadiest
	c, ok := newCorridor(all, drift)
	for ; !ok; c, ok = newCorridor(all, drift) {
		drift *= 2
	}
	first, last := c[0], c[len(c)-1]
	e := Estimate{AtNS: first.atNS, OffsetNS: int64(math.Round(first.middle()))}
	if span := last.atNS - first.atNS; span > 0 {
		e.Drift = (last.middle() - first.middle()) / float64(span)
	}
	since := float64(max(0, endNS-all[len(all)-1].SentNS)) // the clock was read at SentNS or later
	// The 2 ns allow for rounding, here and in Ahead.
	e.BoundNS = int64(math.Ceil(max(c.widest(e, drift), last.off(e)+since*(drift+math.Abs(e.Drift))))) + 2
	return e
}

// gate is a moment on the other clock, with the range by which that clock may be ahead.
type gate struct {
	atNS        int64
	least, most float64
}

func (g gate) middle() float64 { return (g.least + g.most) / 2 }

// off returns the largest possible error of the line at the gate.
func (g gate) off(e Estimate) float64 {
	line := float64(e.OffsetNS) + e.Drift*float64(g.atNS-e.AtNS)
	return max(g.most-line, line-g.least)
}

// corridor holds, at the moment of each exchange, the range that all exchanges together allow.
type corridor []gate

// newCorridor returns the corridor of exchanges, which must be in time order. drift is the largest possible drift.
// newCorridor returns false if the corridor is empty.
func newCorridor(exchanges []Exchange, drift float64) (corridor, bool) {
	c := make(corridor, len(exchanges))
	for i, e := range exchanges {
		c[i].atNS = e.RemoteNS
		c[i].least, c[i].most = e.bounds()
	}
	for i := 1; i < len(c); i++ {
		c[i].narrow(c[i-1], drift)
	}
	for i := len(c) - 2; i >= 0; i-- {
		c[i].narrow(c[i+1], drift)
	}
	return c, !slices.ContainsFunc(c, func(g gate) bool { return g.least > g.most })
}

// narrow intersects the range of g with the range that another gate allows at this moment.
func (g *gate) narrow(other gate, drift float64) {
	change := drift * math.Abs(float64(g.atNS-other.atNS))
	g.least, g.most = max(g.least, other.least-change), min(g.most, other.most+change)
}

// widest returns the largest distance between the corridor and the line. Between two gates, the sides of the corridor
// bulge. Each side leaves both gates with the largest possible drift, until the two lines meet.
func (c corridor) widest(e Estimate, drift float64) float64 {
	widest := c[0].off(e)
	for i := 1; i < len(c); i++ {
		a, b := c[i-1], c[i]
		span := float64(b.atNS - a.atNS)
		bulge := func(left, right, sign float64) float64 { // bulge of one side, from its values at both gates
			meet := min(max((span+sign*(right-left)/drift)/2, 0), span) // meeting point, in ns after gate a
			line := float64(e.OffsetNS) + e.Drift*(float64(a.atNS-e.AtNS)+meet)
			return sign*(left-line) + drift*meet
		}
		widest = max(widest, b.off(e), bulge(a.most, b.most, 1), bulge(a.least, b.least, -1))
	}
	return widest
}
