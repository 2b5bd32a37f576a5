package batches

import (
	"fmt"

	"github.com/psbench/psbench/sdk"
)

// preprocess returns the batches as the trainer's Preprocess changed them. The result must keep the
// number of samples, which the core has counted. Every sample must still satisfy the model's input
// limits, which the data process has checked. If most is not nil, no list may be longer than most
// allows.
func (f *fetcher) preprocess(batches []sdk.Batch, most *Lengths) ([]sdk.Batch, error) {
	p, ok := f.trainer.(sdk.Preprocessor)
	if !ok || len(batches) == 0 {
		return batches, nil
	}
	if !f.Working.TryRLock() { // preprocessing a stream runs concurrently with the trainer
		return nil, f.Over()
	}
	out, err := p.Preprocess(batches)
	f.Working.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("%s, preprocessing its batches: %w", f.Name(), err)
	}
	if out == nil {
		return batches, nil
	}
	if len(out) != len(batches) {
		return nil, fmt.Errorf("%s made %d batches of %d while preprocessing them: both numbers must be equal",
			f.Name(), len(out), len(batches))
	}
	c := Checker{In: f.inputs, Adjective: "preprocessed "}
	for i := range out {
		if got, want := out[i].Size(), batches[i].Size(); got != want {
			return nil, fmt.Errorf(
				"%s made a batch of %d samples of one of %d while preprocessing it: both numbers must be equal",
				f.Name(), got, want)
		}
		if err := c.Check(&out[i]); err != nil {
			return nil, fmt.Errorf("%s, preprocessing its batches: %w", f.Name(), err)
		}
		c.First += out[i].Size()
		if most != nil && LengthsOf(&out[i]).exceed(*most) {
			return nil, fmt.Errorf(
				"%s made a batch with lists of %d while preprocessing it: streamed ones have room for %d", f.Name(),
				LengthsOf(&out[i]), *most)
		}
	}
	return out, nil
}

// exceed reports whether any list of n is longer than the same list of most.
func (n Lengths) exceed(most Lengths) bool {
	for k := range n {
		if n[k] > most[k] {
			return true
		}
	}
	return false
}
