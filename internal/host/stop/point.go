package stop

import (
	"fmt"
	"slices"
)

// Point is where the pass of one trainer ends, counted in its iterations. That of a pass of so
// many iterations is known from the start. A timed one, whose trainers may wait for each
// other in every iteration, ends in two steps, so that all of them run equally many and none
// is past the end when it hears of it:
//
//  1. The core asks each trainer for a bound, which is ahead of where it is. The trainer will
//     not go past its bound without further word.
//  2. Once it has the bounds of all, the core tells each the furthest of them, which is the
//     end. No trainer can be past it, and a trainer that waits at its own bound goes on.
//
// A trainer returns its bound at once, whatever it waits for, so no wait within an iteration
// delays the agreement. Bounds lie far enough ahead that trainers usually learn the end before
// the first one comes to its bound.
//
// The zero Point belongs to a pass whose end is unknown. It is not safe for concurrent use: Step
// and Bound must exclude each other, or a trainer could pass a bound that it gives.
type Point struct {
	done  int64 // completed iterations
	at    int64 // where the trainer stops; 0: nowhere yet
	final bool  // at is the end, not a bound
}

// State tells a trainer what to do after an iteration.
type State int

// States of a pass.
const (
	GoOn State = iota
	Wait       // until the end is known
	Over
)

// After returns the end of a pass of so many iterations.
func After(iterations int64) Point { return Point{at: iterations, final: true} }

// Step counts a completed iteration and returns the next state.
func (p *Point) Step() State {
	p.done++
	return p.State()
}

// State returns the current state.
func (p *Point) State() State {
	switch {
	case p.at == 0 || p.done < p.at:
		return GoOn
	case p.final:
		return Over
	default:
		return Wait
	}
}

// Done returns the number of completed iterations.
func (p *Point) Done() int64 { return p.done }

// Bound returns an iteration that the trainer will not pass before End: so many ahead, at least one. Later calls
// return the same bound.
func (p *Point) Bound(ahead int64) int64 {
	if p.at == 0 {
		p.at = p.done + max(1, ahead)
	}
	return p.at
}

// End sets the end of the pass. It returns an error if the trainer may be past it.
func (p *Point) End(at int64) error {
	if p.final || p.at == 0 || at < p.at {
		return fmt.Errorf(
			"the pass is to end after %d iterations, which is not at or after the bound of the trainer (%d of now %d)",
			at, p.at, p.done)
	}
	p.at, p.final = at, true
	return nil
}

// Together returns the end of each trainer's pass: the furthest bound in its set of connected trainers.
func Together(bounds []int64, sets [][]int) []int64 {
	ends := slices.Clone(bounds)
	for _, set := range sets {
		furthest := int64(0)
		for _, t := range set {
			furthest = max(furthest, bounds[t])
		}
		for _, t := range set {
			ends[t] = furthest
		}
	}
	return ends
}
