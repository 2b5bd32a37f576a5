package option

import (
	"math"
	"strings"
	"testing"
)

// A negative seed has the same meaning as in PyTorch.
func TestSeedsBelowZero(t *testing.T) {
	for _, o := range All() {
		if o.Key != "torch_seed" && o.Key != "cuda_seed" {
			continue
		}
		for text, want := range map[string]uint64{"-1": math.MaxUint64, " -5.0 ": math.MaxUint64 - 4,
			"-9223372036854775808": 1 << 63, "-0": 0} {
			if got, err := o.Parse(Text(text)); got != want {
				t.Errorf("%s %q is %v (%v), not %d", o.Key, text, got, err, want)
			}
		}
	}
}

func TestEveryOptionIsDescribed(t *testing.T) {
	groups := map[string]bool{}
	for _, g := range Groups {
		groups[g.Name] = true
	}
	for _, o := range All() {
		if o.Key == "" || o.Doc == "" || !groups[o.Group] {
			t.Errorf("option %+v lacks a key, a description or a known group", o)
		}
		if strings.ContainsAny(o.Key, "- ") {
			t.Errorf("key %q must be words with underscores", o.Key)
		}
	}
}
