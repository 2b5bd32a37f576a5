package view

import (
	"fmt"
	"math"
	"testing"

	"github.com/psbench/psbench/core/record/breakdown"
	"github.com/psbench/psbench/internal/splitmix"
)

// made returns consecutive iterations of random lengths.
func made(random *splitmix.Stream, count int) []breakdown.Timed {
	list := make([]breakdown.Timed, count)
	end := int64(random.IntN(1_000_000))
	for i := range list {
		ns := int64(random.IntN(1 + int(math.Pow10(random.IntN(10)))))
		end += ns
		list[i] = breakdown.Timed{Iteration: breakdown.Iteration{NS: ns}, EndNS: end}
	}
	return list
}

// Sampling keeps the shortest and the longest iteration of each span, and every iteration lies between the two.
func TestSampling(t *testing.T) {
	random := splitmix.New(7, 0)
	for range 500 {
		list := made(random, 1+random.IntN(3000))
		most, by := 1+random.IntN(700), 1+random.IntN(9)
		var whole Lane
		whole.sample(list, list[0].StartNS(), most)
		if len(whole.Seconds) > most {
			t.Fatalf("%d spans, but %d are the most", len(whole.Seconds), most)
		}
		for _, l := range []Lane{whole, whole.merged(by)} {
			requireSampled(t, list, l)
		}
	}
}

func requireSampled(t *testing.T, list []breakdown.Timed, l Lane) {
	t.Helper()
	spans := (len(list) + l.Each - 1) / l.Each
	if l.Iterations != len(list) || len(l.Seconds) != spans || len(l.MinMS) != spans || len(l.MaxMS) != spans {
		t.Fatalf("%d iterations in spans of %d: %d, %d, %d", len(list), l.Each, len(l.Seconds), len(l.MinMS),
			len(l.MaxMS))
	}
	seen := make([][2]float64, spans) // shortest and longest
	for i := range seen {
		seen[i] = [2]float64{math.Inf(1), math.Inf(-1)}
	}
	for i, it := range list {
		ms, span := rounded(milliseconds(it.NS), digits), i/l.Each
		if ms < l.MinMS[span] || ms > l.MaxMS[span] {
			t.Fatalf("iteration %d of %v ms is not from %v to %v", i, ms, l.MinMS[span], l.MaxMS[span])
		}
		seen[span] = [2]float64{min(seen[span][0], ms), max(seen[span][1], ms)}
		if want := rounded(float64(it.StartNS()-list[0].StartNS())/1e9, digits); i%l.Each == 0 &&
			l.Seconds[span] != want {
			t.Fatalf("span %d begins at %v s, not %v", span, want, l.Seconds[span])
		}
	}
	for span, s := range seen {
		if s != [2]float64{l.MinMS[span], l.MaxMS[span]} {
			t.Fatalf("span %d is from %v to %v, but nothing in it is beyond %v", span, l.MinMS[span], l.MaxMS[span], s)
		}
	}
}

func TestRounded(t *testing.T) {
	for _, c := range []struct {
		x      float64
		digits int
		want   float64
	}{
		{0, 5, 0}, {1.2345678, 5, 1.2346}, {-0.000123456, 3, -0.000123}, {123456.7, 5, 123457}, {99999.6, 5, 100000},
		{1e300, 5, 1e300}, {3e-320, 5, 0}, {math.Inf(1), 5, math.Inf(1)}, {12345678901234.4, 12, 12345678901234},
	} {
		t.Run(fmt.Sprint(c.x), func(t *testing.T) {
			if got := rounded(c.x, c.digits); got != c.want {
				t.Errorf("%v with %d digits is %v, not %v", c.x, c.digits, got, c.want)
			}
		})
	}
}

// Quantiles begin with the shortest iteration, end with the longest, and never decrease.
func TestQuantiles(t *testing.T) {
	for name, d := range recorded(t) {
		for i, detail := range d.Details {
			q := detail.Quantiles
			low, high := math.Inf(1), math.Inf(-1)
			for _, l := range detail.Lanes {
				for k := range l.MinMS {
					low, high = min(low, l.MinMS[k]), max(high, l.MaxMS[k])
				}
			}
			if len(q) != quantiles || q[0] != low || q[len(q)-1] != high {
				t.Errorf("%s, detail %d: %d quantiles from %v to %v, iterations are from %v to %v", name, i, len(q),
					q[0], q[len(q)-1], low, high)
			}
			for k := range q[1:] {
				if q[k+1] < q[k] {
					t.Errorf("%s, detail %d: quantile %d falls", name, i, k+1)
				}
			}
		}
	}
}
