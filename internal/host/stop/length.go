// Package stop determines where a pass ends: after a number of epochs or iterations. In a timed
// pass, connected trainers agree on the iteration.
package stop

import "time"

// Length is the length of a pass: a number of epochs, a number of iterations per trainer, or a
// time. Exactly one of these three is above 0. All are 0 if there is no pass.
type Length struct {
	Epochs     int
	Iterations int
	Time       time.Duration
	// Least is the minimum number of iterations of each trainer. Settle raises the number of epochs to
	// reach Least, once the number of batches per epoch is known.
	Least int
}

// Settle returns the length for a trainer with this many batches per epoch, at least one. Use the
// trainer with the fewest batches.
func (l Length) Settle(batches int) Length {
	if l.Least > 0 {
		l.Epochs = max(l.Epochs, ceil(l.Least, batches))
	}
	l.Least = 0
	return l
}

// IterationsOf returns how many iterations a trainer runs if its epoch has this many batches. It
// returns 0 for a timed pass.
func (l Length) IterationsOf(batches int) int {
	if l.Iterations > 0 {
		return l.Iterations
	}
	return l.Epochs * batches
}

// EpochsOf returns how many epochs a trainer with this many batches per epoch begins; 0 for a timed
// pass.
func (l Length) EpochsOf(batches int) int {
	if l.Iterations > 0 {
		return ceil(l.Iterations, batches)
	}
	return l.Epochs
}

// ceil returns a/b, rounded up.
func ceil(a, b int) int { return (a + b - 1) / b }
