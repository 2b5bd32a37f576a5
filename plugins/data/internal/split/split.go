// Package split divides samples into those that are trained on and those that are held
// out to evaluate the model.
package split

import (
	"fmt"
	"math"
)

// Split holds out every k-th of a list of samples, up to a limit. Samples count from 0 in
// their order. The zero value holds out none.
type Split struct {
	every int64 // 0: none
	most  int64
}

// New holds out a share of the samples: every k-th one, k being 1/share rounded, and at
// most so many. So a share of 0.1 holds out samples 9, 19, 29 and so on.
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

// HeldOut says whether a sample is held out.
func (s Split) HeldOut(sample int64) bool {
	return s.every > 0 && sample%s.every == s.every-1 && sample/s.every < s.most
}

// Before is how many samples before this one are held out.
func (s Split) Before(sample int64) int64 {
	if s.every == 0 {
		return 0
	}
	return min(sample/s.every, s.most)
}

// Trained is the sample that has n samples to train on before it and is one itself.
func (s Split) Trained(n int64) int64 {
	if s.every == 0 {
		return n
	}
	return n + min(n/(s.every-1), s.most)
}

// Held is the n-th sample that is held out, from 0, and whether the limit allows it.
func (s Split) Held(n int64) (sample int64, ok bool) {
	return (n+1)*s.every - 1, s.every > 0 && n < s.most
}
