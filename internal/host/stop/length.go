// Package stop says how long a pass is and where it ends: after so many epochs or iterations,
// or, of a pass that is timed, where trainers that are connected agree to end it together.
package stop

import "time"

// Length is how long a pass is: so many epochs, so many iterations of each trainer, or a
// time. One of the three is above 0, and none of them where there is no such pass.
type Length struct {
	Epochs     int
	Iterations int
	Time       time.Duration
	// Least is how many iterations each trainer is to run: epochs that give it fewer become
	// more, once it is known how many batches an epoch has.
	Least int
}

// Settle is the length once the trainer with the fewest batches is known to have so many of
// them in an epoch, one at least.
func (l Length) Settle(batches int) Length {
	if l.Least > 0 {
		l.Epochs = max(l.Epochs, ceil(l.Least, batches))
	}
	l.Least = 0
	return l
}

// IterationsOf is how many iterations a trainer with so many batches an epoch runs, or 0 of a
// pass that is timed.
func (l Length) IterationsOf(batches int) int {
	if l.Iterations > 0 {
		return l.Iterations
	}
	return l.Epochs * batches
}

// EpochsOf is how many epochs a trainer with so many batches an epoch begins, or 0 of a pass
// that is timed.
func (l Length) EpochsOf(batches int) int {
	if l.Iterations > 0 {
		return ceil(l.Iterations, batches)
	}
	return l.Epochs
}

// ceil is a/b, rounded up.
func ceil(a, b int) int { return (a + b - 1) / b }
