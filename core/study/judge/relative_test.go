package judge

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestRelative(t *testing.T) {
	for name, c := range map[string]struct {
		from, to, want float64
		ok             bool
	}{
		"more":              {2, 3, 0.5, true},
		"less":              {3, 1.5, -0.5, true},
		"nothing left":      {3, 0, -1, true},
		"a hundred times":   {1, 100, 99, true},
		"nearly 0 before":   {1e-12, 1, 0, false},
		"0 before":          {0, 1, 0, false},
		"0 before and now":  {0, 0, 0, false},
		"below 0 before":    {-1, 1, 0, false},
		"below 0 now":       {1, -0.5, 0, false},
		"both below 0":      {-2, -1, 0, false},
		"no number before":  {math.NaN(), 1, 0, false},
		"no number now":     {1, math.NaN(), 0, false},
		"no end before":     {math.Inf(1), 1, 0, false},
		"no end now":        {1, math.Inf(1), 0, false},
		"no end on a side":  {math.Inf(-1), math.Inf(1), 0, false},
		"the smallest ones": {5e-324, 1e-323, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := Relative(c.from, c.to); ok != c.ok || ok && got != c.want {
				t.Errorf("%s: %v, %v", name, got, ok)
			}
		})
	}
}

// A change given as a percentage, and both ends of its interval, never fall below -100 %.
func TestNoChangeIsImpossible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := rapid.SliceOfN(rapid.Float64Range(-1, 5), 2, 12)
		c := Compare([]Pair{{Apart(runs.Draw(t, "old")), Apart(runs.Draw(t, "new"))}}, true, Floor{0.01, 3})[0]
		switch {
		case c.Difference != nil:
			if math.IsNaN(c.Difference.Change) || c.Difference.Low > c.Difference.Change ||
				c.Difference.Change > c.Difference.High {
				t.Fatalf("the difference is %+v", *c.Difference)
			}
		case c.Change < -1 || !math.IsInf(c.Low, -1) && c.Low < -1 || math.IsNaN(c.Change):
			t.Fatalf("%+v", c)
		}
	})
}
