// Package stop determines the end of a pass: after a number of epochs or iterations or, for a timed pass, at the
// iteration on which connected trainers agree.
package stop

import "time"

// Length is the length of a pass: epochs, iterations of each trainer, or a time. Exactly one is above 0; none is if
// there is no such pass.
type Length struct {
	Epochs     int
	Iterations int
	Time       time.Duration
	// Least is the least number of iterations of each trainer. Epochs with fewer become more, once the number of
	// batches in an epoch is known.
	Least int
}

// Settle returns the length for a trainer with so many batches in an epoch, at least one: the trainer with the
// fewest.
func (l Length) Settle(batches int) Length {
	if l.Least > 0 {
		l.Epochs = max(l.Epochs, ceil(l.Least, batches))
	}
	l.Least = 0
	return l
}

// IterationsOf returns how many iterations a trainer with so many batches an epoch runs; 0 for a timed pass.
func (l Length) IterationsOf(batches int) int {
	if l.Iterations > 0 {
		return l.Iterations
	}
	return l.Epochs * batches
}

// EpochsOf returns how many epochs a trainer with so many batches an epoch begins; 0 for a timed pass.
func (l Length) EpochsOf(batches int) int {
	if l.Iterations > 0 {
		return ceil(l.Iterations, batches)
	}
	return l.Epochs
}

// ceil returns a/b, rounded up.
func ceil(a, b int) int { return (a + b - 1) / b }
