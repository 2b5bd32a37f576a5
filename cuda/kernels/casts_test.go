//go:build nvidia

package kernels

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// format is a 16-bit float: a sign bit, exponent bits, and a mantissa.
type format struct {
	name          string
	exponent      int // bits
	to            func(q *Queue, dst []uint16, src []float32)
	from          func(q *Queue, dst []float32, src []uint16)
	belowInfinity uint16 // the largest finite value
}

var formats = []format{
	{"float16", 5, (*Queue).ToFloat16, (*Queue).FromFloat16, 0x7bff},
	{"bfloat16", 8, (*Queue).ToBFloat16, (*Queue).FromBFloat16, 0x7f7f},
}

// value returns the value of a positive bit pattern. For infinity, it returns the value that would follow the
// largest finite one.
func (f format) value(bits uint16) float64 {
	fraction := 15 - f.exponent
	bias := 1<<(f.exponent-1) - 1
	e, m := int(bits>>fraction), float64(bits&(1<<fraction-1))
	if e == 0 {
		return math.Ldexp(m, 1-bias-fraction)
	}
	return math.Ldexp(m+math.Ldexp(1, fraction), e-bias-fraction)
}

// Every value of a format converts exactly in both directions. A value between two neighbours goes to the nearer
// one, or from the middle to the even one. The neighbour above the largest finite value is infinity.
func TestCastsOfEveryPattern(t *testing.T) {
	for _, f := range formats {
		t.Run(f.name, func(t *testing.T) {
			b := begin(t)
			defer b.end()
			var narrow []uint16
			var exact, between []float32
			var nearest []uint16
			for p := uint16(0); p <= f.belowInfinity; p++ {
				v, next := f.value(p), f.value(p+1)
				middle := float32((v + next) / 2)
				even := p + p&1
				for _, sign := range []uint16{0, 1 << 15} {
					signed := func(v float32) float32 {
						if sign != 0 {
							return -v
						}
						return v
					}
					narrow = append(narrow, p|sign)
					exact = append(exact, signed(float32(v)))
					between = append(between, signed(float32(v)), signed(middle),
						signed(math.Nextafter32(middle, 0)), signed(math.Nextafter32(middle, float32(math.Inf(1)))))
					nearest = append(nearest, p|sign, even|sign, p|sign, (p+1)|sign)
				}
			}
			infinity := f.belowInfinity + 1
			narrow = append(narrow, infinity, infinity|1<<15)
			exact = append(exact, float32(math.Inf(1)), float32(math.Inf(-1)))
			for p := infinity + 1; p < 1<<15; p++ {
				narrow = append(narrow, p, p|1<<15)
				exact = append(exact, float32(math.NaN()), float32(math.NaN()))
			}
			between = append(between, float32(math.Inf(-1)), math.MaxFloat32)
			nearest = append(nearest, infinity|1<<15, infinity)

			wide := place(b, make([]float32, len(narrow)), 0)
			f.from(b.Queue, wide, place(b, narrow, 0))
			same(t, "float32", fetched(b, wide), exact)
			back := place(b, make([]uint16, len(between)), 0)
			f.to(b.Queue, back, place(b, between, 0))
			for i, got := range fetched(b, back) {
				if got != nearest[i] {
					t.Fatalf("%g becomes %#04x, want %#04x", between[i], got, nearest[i])
				}
			}
		})
	}
}

func TestCastsOfNaN(t *testing.T) {
	b := begin(t)
	defer b.end()
	nans := []float32{math.Float32frombits(0x7f800001), math.Float32frombits(0xffffffff), float32(math.NaN())}
	src := place(b, nans, 0)
	for _, f := range formats {
		dst := place(b, make([]uint16, len(nans)), 0)
		f.to(b.Queue, dst, src)
		for i, got := range fetched(b, dst) {
			if got&0x7fff <= f.belowInfinity+1 {
				t.Errorf("%s: NaN %#08x becomes %#04x, which is none", f.name, math.Float32bits(nans[i]), got)
			}
		}
	}
}

func TestCastsAtAnyPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := begin(t)
		defer b.end()
		r, n := drawNumbers(t), rapid.IntRange(0, 300).Draw(t, "n")
		f := rapid.SampledFrom(formats).Draw(t, "format")
		at := offsets(t, 3)
		wide := make([]float32, n)
		for i := range wide {
			wide[i] = float32(f.value(uint16(r.IntN(int(f.belowInfinity) + 1))))
		}
		narrow, back := place(b, make([]uint16, n), at[1]), place(b, make([]float32, n), at[2])
		f.to(b.Queue, narrow, place(b, wide, at[0]))
		f.from(b.Queue, back, narrow)
		same(t, "values", fetched(b, back), wide)
	})
}
