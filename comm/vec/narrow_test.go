package vec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
)

// narrowType is what the tests know of an element type of 16 bits.
type narrowType struct {
	name               string
	exponent, mantissa int // bits
	widen, addWidened  func([]float32, []uint16)
	narrow             func([]uint16, float32, []float32)
	add                func(dst, src []uint16)
	addBoth            func(a float32, x, y []uint16)
	scale              func(a float32, x []uint16)
}

var narrowTypes = []narrowType{
	{"bfloat16", 8, 7, WidenBFloat16, AddWidenedBFloat16, NarrowBFloat16, AddBFloat16, AddBothBFloat16, ScaleBFloat16},
	{"float16", 5, 10, WidenFloat16, AddWidenedFloat16, NarrowFloat16, AddFloat16, AddBothFloat16, ScaleFloat16},
}

// value is that of a number by the definition of the format, in float64; infinities count as the next power of two.
func (n narrowType) value(h uint16) float64 {
	mantissa, exponent := int(h)&(1<<n.mantissa-1), int(h)>>n.mantissa&(1<<n.exponent-1)
	sign, bias := 1.0, 1<<(n.exponent-1)-1
	if h>>15 != 0 {
		sign = -1
	}
	if exponent == 0 {
		return sign * math.Ldexp(float64(mantissa), 1-bias-n.mantissa)
	}
	return sign * math.Ldexp(float64(1<<n.mantissa+mantissa), exponent-bias-n.mantissa)
}

func (n narrowType) infinity() uint16 { return uint16(1<<n.exponent-1) << n.mantissa }

// isNaN says whether h is none.
func (n narrowType) isNaN(h uint16) bool { return h&0x7fff > n.infinity() }

// nearest is the number next to x, of two the even one. Bits order positive numbers.
func (n narrowType) nearest(x float32) uint16 {
	sign := uint16(math.Float32bits(x) >> 31 << 15)
	magnitude := math.Abs(float64(x))
	h := uint16(sort.Search(int(n.infinity()), func(h int) bool { return n.value(uint16(h)) >= magnitude }))
	if h == 0 || n.value(h) == magnitude {
		return sign | h
	}
	below, above := magnitude-n.value(h-1), n.value(h)-magnitude
	if below < above || below == above && h%2 == 1 {
		h--
	}
	return sign | h
}

func eachNarrow(t *testing.T, test func(t *testing.T, n narrowType)) {
	for _, n := range narrowTypes {
		t.Run(n.name, func(t *testing.T) {
			eachLevel(t, func(t *testing.T) { test(t, n) })
		})
	}
}

func TestWidenIsExact(t *testing.T) {
	eachNarrow(t, func(t *testing.T, n narrowType) {
		all, wide := make([]uint16, 1<<16), make([]float32, 1<<16)
		for i := range all {
			all[i] = uint16(i)
		}
		n.widen(wide, all)
		back := make([]uint16, len(all))
		n.narrow(back, 1, wide)
		for i, h := range all {
			want := float32(n.value(h))
			switch {
			case n.isNaN(h):
				if wide[i] == wide[i] || !n.isNaN(back[i]) { //nolint:gocritic // is a number
					t.Fatalf("%#04x, which is no number, becomes %g and %#04x", h, wide[i], back[i])
				}
				continue
			case h&0x7fff == n.infinity():
				want = float32(math.Inf(1 - 2*int(h>>15)))
			}
			if math.Float32bits(wide[i]) != math.Float32bits(want) || back[i] != h {
				t.Fatalf("%#04x becomes %g and %#04x, want %g and the same", h, wide[i], back[i], want)
			}
		}
	})
}

func TestNarrowRoundsToNearestEven(t *testing.T) {
	eachNarrow(t, func(t *testing.T, n narrowType) {
		var x []float32
		for h := range n.infinity() + 1 { // every number, what lies halfway to the next, and their neighbours
			for _, v := range []float64{n.value(h), (n.value(h) + n.value(h+1)) / 2} {
				v := float32(v)
				x = append(x, v, -v, math.Nextafter32(v, 0), math.Nextafter32(v, math.MaxFloat32))
			}
		}
		random := rand.New(rand.NewPCG(1, 2))
		for range 10_000 {
			x = append(x, math.Float32frombits(random.Uint32()))
		}
		got := make([]uint16, len(x))
		n.narrow(got, 1, x)
		for i, v := range x {
			switch {
			case v != v: //nolint:gocritic // is NaN
				if !n.isNaN(got[i]) {
					t.Fatalf("a NaN becomes %#04x", got[i])
				}
			case got[i] != n.nearest(v):
				t.Fatalf("%g (%#08x) becomes %#04x, want %#04x", v, math.Float32bits(v), got[i], n.nearest(v))
			}
		}
	})
}

// TestNarrowSums compares each kernel with float32 arithmetic on widened values and one rounding, at all lengths
// about a step, and looks at what lies behind the slices.
func TestNarrowSums(t *testing.T) {
	eachNarrow(t, func(t *testing.T, n narrowType) {
		random := rand.New(rand.NewPCG(3, 4))
		for elements := range 3*stepElements + 2 {
			x, y := randomHalves(random, elements+1), randomHalves(random, elements+1)
			for _, c := range n.cases() {
				gotX, gotY := slices.Clone(x), slices.Clone(y)
				c.run(gotX[:elements], gotY[:elements])
				for i := range elements + 1 {
					wantX, wantY := x[i], y[i]
					if i < elements {
						wantX, wantY = c.one(x[i], y[i])
					}
					if !n.same(gotX[i], wantX) || !n.same(gotY[i], wantY) {
						t.Fatalf("%s of %d elements: element %d of %#04x and %#04x is %#04x and %#04x, want %#04x and %#04x",
							c.name, elements, i, x[i], y[i], gotX[i], gotY[i], wantX, wantY)
					}
				}
			}
		}
	})
}

func randomHalves(random *rand.Rand, n int) []uint16 {
	x := make([]uint16, n)
	for i := range x {
		x[i] = uint16(random.Uint32())
		if i%5 == 0 {
			x[i] &= 0x83ff // denormal, or small
		}
	}
	return x
}

func (n narrowType) same(a, b uint16) bool { return a == b || n.isNaN(a) && n.isNaN(b) }

type narrowCase struct {
	name string
	run  func(x, y []uint16)
	one  func(x, y uint16) (uint16, uint16)
}

func (n narrowType) cases() []narrowCase {
	wide := func(h uint16) float32 {
		var v [1]float32
		n.widen(v[:], []uint16{h})
		return v[0]
	}
	round := func(v float32) uint16 {
		if v != v { //nolint:gocritic // is NaN
			return n.infinity() + 1
		}
		return n.nearest(v)
	}
	const a = float32(1) / 3
	return []narrowCase{
		{"add", n.add, func(x, y uint16) (uint16, uint16) { return round(wide(x) + wide(y)), y }},
		{"addBoth", func(x, y []uint16) { n.addBoth(a, x, y) }, func(x, y uint16) (uint16, uint16) {
			sum := round(float32(wide(x)+wide(y)) * a)
			return sum, sum
		}},
		{"scale", func(x, _ []uint16) { n.scale(a, x) }, func(x, y uint16) (uint16, uint16) {
			return round(wide(x) * a), y
		}},
		{"accumulate", func(x, y []uint16) {
			sum := make([]float32, len(x))
			n.widen(sum, x)
			n.addWidened(sum, y)
			n.addWidened(sum, y)
			n.narrow(x, a, sum)
		}, func(x, y uint16) (uint16, uint16) {
			return round(float32(float32(wide(x)+wide(y))+wide(y)) * a), y
		}},
	}
}

func TestIntegersWrap(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for elements := range 2*stepElements + 2 {
			a, b := make([]int32, elements+1), make([]int32, elements+1)
			c, d := make([]int64, elements+1), make([]int64, elements+1)
			for i := range a {
				a[i], b[i] = math.MaxInt32-int32(i), int32(3*i)
				c[i], d[i] = math.MaxInt64-int64(i), int64(3*i)
			}
			AddInt32(a[:elements], b[:elements])
			AddInt64(c[:elements], d[:elements])
			for i := range a {
				want, want64 := int32(math.MaxInt32-i), int64(math.MaxInt64-i)
				if i < elements {
					want, want64 = want+int32(3*i), want64+int64(3*i)
				}
				if a[i] != want || c[i] != want64 {
					t.Fatalf("element %d of %d is %d and %d, want %d and %d", i, elements, a[i], c[i], want, want64)
				}
			}
		}
	})
}

// BenchmarkNarrow has the bytes per second of casts beside those of copies: bytes read and written.
func BenchmarkNarrow(b *testing.B) {
	const elements = 1 << 18 // 1 MiB of float32
	wide, half := make([]float32, elements), make([]uint16, elements)
	other := make([]float32, elements)
	b.Run("copy", func(b *testing.B) {
		b.SetBytes(8 * elements)
		for b.Loop() {
			copy(other, wide)
		}
	})
	for _, n := range narrowTypes {
		for what, run := range map[string]func(){
			"widen": func() { n.widen(wide, half) }, "narrow": func() { n.narrow(half, 1, wide) },
		} {
			b.Run(fmt.Sprint(n.name, "/", what), func(b *testing.B) {
				b.SetBytes(6 * elements)
				for b.Loop() {
					run()
				}
			})
		}
	}
}
