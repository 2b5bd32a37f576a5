package numeral

import (
	"fmt"
	"math"
	"testing"
)

func TestMedian(t *testing.T) {
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		values []float64
		want   float64
	}{
		"one value":           {[]float64{1}, 1},
		"an odd count":        {[]float64{3, 1, inf}, 3},
		"an even count":       {[]float64{4, 1, 2, inf}, 3},
		"half of it infinite": {[]float64{inf, 1}, inf},
		"most of it infinite": {[]float64{inf, 1, inf}, inf},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Median(c.values); got != c.want {
				t.Errorf("the median of %v is %v, want %v", c.values, got, c.want)
			}
		})
	}
	if got := Median(nil); !math.IsNaN(got) {
		t.Errorf("without values it is %v", got)
	}
}

func TestFinite(t *testing.T) {
	if !Finite() || !Finite(0, -1, math.MaxFloat64) {
		t.Error("it refuses finite values")
	}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		t.Run(fmt.Sprint(x), func(t *testing.T) {
			if Finite(1, x) {
				t.Errorf("it takes %v", x)
			}
		})
	}
}
