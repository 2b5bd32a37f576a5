package report

import (
	"testing"

	"github.com/psbench/psbench/core/record/result"
)

func TestWhatWasChecked(t *testing.T) {
	for want, c := range map[string]*result.Checks{
		"": nil,
		"512 slices of 5 iterations, 0.3 % of the pass":   {Slices: 512, Iterations: 5, Share: 0.003},
		"1 slice of 1 iteration, 0.0012 % of the pass":    {Slices: 1, Iterations: 1, Share: 0.0000123},
		"nothing; unchecked: hook noop (it uses no link)": {Unchecked: []result.Unchecked{{What: "hook noop", Reason: "it uses no link"}}},
		"2 slices of 1 iteration, 0 % of the pass; unchecked: a (b); c (d)": {
			Slices: 2, Iterations: 1, Unchecked: []result.Unchecked{{What: "a", Reason: "b"}, {What: "c", Reason: "d"}},
		},
	} {
		t.Run(want, func(t *testing.T) {
			if got := checks(c); got != want {
				t.Errorf("%q, not %q", got, want)
			}
		})
	}
}
