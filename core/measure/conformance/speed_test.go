package conformance

import "testing"

// A part counts as slow if most rounds are slow. A single slow round may come from a busy machine.
func TestSlowness(t *testing.T) {
	for name, c := range map[string]struct {
		ratios []float64
		median float64
		warns  bool
	}{
		"slow":            {[]float64{20, 22, 19}, 20, true},
		"slow once":       {[]float64{20, 1.1, 1.2}, 1.2, false},
		"fast once":       {[]float64{20, 1.1, 21}, 20, true},
		"as is permitted": {[]float64{5, 5, 5}, 5, false},
	} {
		t.Run(name, func(t *testing.T) {
			if median, warns := slowness(c.ratios); median != c.median || warns != c.warns {
				t.Errorf("%g, %v", median, warns)
			}
		})
	}
}
