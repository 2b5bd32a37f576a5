package stop

import (
	"fmt"
	"slices"
)

// Point is the end of one trainer's pass, counted in iterations. If the pass has a fixed number of
// iterations, the end is known from the start. In a timed pass, trainers may wait for each other in
// every iteration, so all must run equally many iterations. A timed pass therefore ends in two
// steps:
//
//  1. The core asks each trainer for a bound ahead of its current iteration. The trainer
//     promises not to pass its bound before it gets the end.
//  2. Once the core has all bounds, it sends the furthest bound to each trainer as the end.
//     No trainer can be past that end, and a trainer that waits at its own bound continues.
//
// A trainer returns its bound at once, even while it waits within an iteration, so no such wait
// delays the agreement. Bounds are far enough ahead that trainers usually get the end before the
// first one reaches its bound.
//
// The zero Point is for a pass whose end is unknown. Point is not safe for concurrent use. Step and
// Bound must exclude each other, or a trainer could pass a bound that it promises.
type Point struct {
	done  int64 // completed iterations
	at    int64 // iteration at which the trainer stops; 0 if unknown
	final bool  // whether at is the end rather than a bound
}

// State says whether a trainer continues, waits or stops after an iteration.
type State int

// The states of a pass.
const (
	GoOn State = iota
	Wait       // wait until the end is known
	Over
)

// After returns the end of a pass with this many iterations.
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

// Bound returns an iteration that the trainer will not pass before End. The bound is the current
// iteration plus ahead, but at least the next one. Later calls return the same bound.
func (p *Point) Bound(ahead int64) int64 {
	if p.at == 0 {
		p.at = p.done + max(1, ahead)
	}
	return p.at
}

// End sets the end of the pass. End returns an error if the trainer may already be past it.
func (p *Point) End(at int64) error {
	if p.final || p.at == 0 || at < p.at {
		return fmt.Errorf(
			"the pass cannot end after %d iterations: the trainer may run up to iteration %d and has done %d",
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
