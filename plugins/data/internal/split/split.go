// Package split divides samples into training samples and held-out samples for evaluating the model.
package split

import (
	"fmt"
	"math"
)

// Split holds out every k-th sample, up to a limit. Sample numbers start at 0. The zero value holds out no sample.
type Split struct {
	every int64 // 0: none
	most  int64
}

// New returns a split that holds out a share of the samples, and at most the given number. New holds out every k-th
// sample, where k is 1/share rounded. For example, a share of 0.1 holds out samples 9, 19, 29 and so on.
func New(share float64, most int) (Split, error) {
	switch {
	case !(share >= 0 && share <= 0.5):
		return Split{}, fmt.Errorf("setting held_out is %v but must be from 0 to 0.5", share)
	case most < 0:
		return Split{}, fmt.Errorf("setting held_out_samples is %d but must be 0 or more", most)
	case share < 1e-9 || most == 0:
		return Split{}, nil
	}
	return Split{every: int64(math.Round(1 / share)), most: int64(most)}, nil
}

// HeldOut reports whether a sample is held out.
func (s Split) HeldOut(sample int64) bool {
	return s.every > 0 && sample%s.every == s.every-1 && sample/s.every < s.most
}

// Before returns how many samples before this one are held out.
func (s Split) Before(sample int64) int64 {
	if s.every == 0 {
		return 0
	}
	return min(sample/s.every, s.most)
}

// Trained returns the number of the training sample that has n training samples before it.
func (s Split) Trained(n int64) int64 {
	if s.every == 0 {
		return n
	}
	return n + min(n/(s.every-1), s.most)
}

// Held returns the number of the n-th held-out sample, counted from 0. Held returns false if the limit excludes
// that sample.
func (s Split) Held(n int64) (sample int64, ok bool) {
	return (n+1)*s.every - 1, s.every > 0 && n < s.most
}
