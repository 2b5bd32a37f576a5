// Package clocks estimates how the clock of another host goes beside that of the core's, and bounds the error.
package clocks

import (
	"math"
	"slices"
	"time"
)

// Exchange is a question for what the other clock reads, and its answer.
type Exchange struct {
	SentNS     int64 // before the question, on this clock
	RemoteNS   int64 // what the other one read meanwhile
	ReceivedNS int64 // after the answer, on this clock
}

// bounds are those of how far the other clock was ahead when it read RemoteNS: the other clock was read at some
// moment between the question and the answer, and nothing is known of which.
func (e Exchange) bounds() (least, most float64) {
	return float64(e.RemoteNS - e.ReceivedNS), float64(e.RemoteNS - e.SentNS)
}

// roundTripNS is how long it took.
func (e Exchange) roundTripNS() int64 { return e.ReceivedNS - e.SentNS }

// Estimate is a straight line for how far another clock is ahead of this one. The zero Estimate is that of this
// clock itself.
type Estimate struct {
	// AtNS is the time on the other clock at which it was OffsetNS ahead. Of each ns that it goes on it gets
	// Drift ns further ahead: 1e-6 is a part in a million.
	AtNS     int64   `json:"at_ns"`
	OffsetNS int64   `json:"offset_ns"`
	Drift    float64 `json:"drift"`
	// BoundNS is how far the line is off at most, from the end of the first exchange until the estimate was made.
	BoundNS int64 `json:"bound_ns"`
}

// Ahead is how far the other clock is ahead when it reads ns.
func (e Estimate) Ahead(ns int64) int64 {
	return e.OffsetNS + int64(math.Round(e.Drift*float64(ns-e.AtNS)))
}

// Here is what this clock reads when the other one reads ns, give or take BoundNS.
func (e Estimate) Here(ns int64) int64 { return ns - e.Ahead(ns) }

// Of is a clock that is ahead by exactly this and stays so.
func Of(ahead time.Duration) Estimate { return Estimate{OffsetNS: int64(ahead)} }

// steadiest is the drift that every clock may have: some 50 parts in a million of a crystal, on either host.
const steadiest = 100e-6

// estimate finds a line, and its bound from the end of the first of some exchanges until endNS on this clock.
//
// An exchange bounds the offset at one moment. Between moments it changes by no more than the drift allows, so
// that each exchange bounds it everywhere, less and less tightly, and all together leave a corridor. The line goes
// through the middles of its ends, and its bound is how far the corridor is from it anywhere. So the offset
// need not be a line itself: while a clock warms up, or is disciplined, the truth is in the corridor. Where an
// exchange is outside of the corridor of the others, the clock drifts by more than was thought, and twice as
// much is. It is Marzullo's intersection of intervals, with drift as in Cristian's algorithm; the cost is the
// number of exchanges times its logarithm.
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
	since := float64(max(0, endNS-all[len(all)-1].SentNS)) // it was read then, or later
	// 2 ns for what was rounded, here and in Ahead.
	e.BoundNS = int64(math.Ceil(max(c.widest(e, drift), last.off(e)+since*(drift+math.Abs(e.Drift))))) + 2
	return e
}

// gate is a moment, on the other clock, and how far that was ahead then.
type gate struct {
	atNS        int64
	least, most float64
}

func (g gate) middle() float64 { return (g.least + g.most) / 2 }

// off is how far the truth may be from the line there.
func (g gate) off(e Estimate) float64 {
	line := float64(e.OffsetNS) + e.Drift*float64(g.atNS-e.AtNS)
	return max(g.most-line, line-g.least)
}

// corridor is what all exchanges leave, at the moment of each.
type corridor []gate

// newCorridor is that of exchanges in order, between which the offset changes by no more than the drift allows;
// false if nothing is left.
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

// narrow takes into account what another gate leaves there.
func (g *gate) narrow(other gate, drift float64) {
	change := drift * math.Abs(float64(g.atNS-other.atNS))
	g.least, g.most = max(g.least, other.least-change), min(g.most, other.most+change)
}

// widest is how far the corridor is from the line at most. Between two gates its sides bulge: each runs from
// both gates outwards, as steeply as the clock may drift, to where the two meet.
func (c corridor) widest(e Estimate, drift float64) float64 {
	widest := c[0].off(e)
	for i := 1; i < len(c); i++ {
		a, b := c[i-1], c[i]
		span := float64(b.atNS - a.atNS)
		bulge := func(left, right, sign float64) float64 { // of the side that is at left and right there
			meet := min(max((span+sign*(right-left)/drift)/2, 0), span) // after a
			line := float64(e.OffsetNS) + e.Drift*(float64(a.atNS-e.AtNS)+meet)
			return sign*(left-line) + drift*meet
		}
		widest = max(widest, b.off(e), bulge(a.most, b.most, 1), bulge(a.least, b.least, -1))
	}
	return widest
}
