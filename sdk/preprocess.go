package sdk

import "fmt"

// preprocess gives what the trainer makes of batches. The core counted the samples, and
// the data process checked them against what the model takes; so both must be true of
// the outcome. Unless most is nil no list may be longer than it says.
func (f *fetcher) preprocess(batches []Batch, most *lengths) ([]Batch, error) {
	p, ok := f.trainer.(Preprocessor)
	if !ok || len(batches) == 0 {
		return batches, nil
	}
	out, err := p.Preprocess(batches)
	if err != nil {
		return nil, fmt.Errorf("%s, preprocessing its batches: %w", f.name(), err)
	}
	if out == nil {
		return batches, nil
	}
	if len(out) != len(batches) {
		return nil, fmt.Errorf("%s made %d batches of %d while preprocessing them: there must be equally many", f.name(), len(out), len(batches))
	}
	c := checker{in: f.inputs, adjective: "preprocessed "}
	for i := range out {
		if got, want := out[i].Size(), batches[i].Size(); got != want {
			return nil, fmt.Errorf("%s made a batch of %d samples of one of %d while preprocessing it: there must be equally many", f.name(), got, want)
		}
		if err := c.check(&out[i]); err != nil {
			return nil, fmt.Errorf("%s, preprocessing its batches: %w", f.name(), err)
		}
		c.first += out[i].Size()
		if most != nil && lengthsOf(&out[i]).exceed(*most) {
			return nil, fmt.Errorf("%s made a batch with lists of %d while preprocessing it: streamed ones have room for %d", f.name(), lengthsOf(&out[i]), *most)
		}
	}
	return out, nil
}

// exceed says that a list is longer than that of most.
func (n lengths) exceed(most lengths) bool {
	for k := range n {
		if n[k] > most[k] {
			return true
		}
	}
	return false
}
