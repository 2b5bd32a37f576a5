package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func (l level) reductions() {
	l.dot()
	l.largest()
	l.expSum()
}

func (l level) dot() {
	l.function("dot", "(x, y []float32) float32")
	x, y := base("x"), base("y")
	var sums [4]reg.VecVirtual
	for k := range sums {
		sums[k] = l.zero()
	}
	l.sweep(length("x"), func(vectors []place) {
		for k, p := range vectors {
			VFMADD231PS(p.load(x), p.load(y), sums[k])
		}
	}, 4)
	l.fold(sums, VADDPS)
	l.end()
}

func (l level) largest() {
	l.function("largest", "(x []float32) float32")
	x := base("x")
	lowest := l.vector()
	VMOVUPS(constant("lowest", math.Float32bits(float32(math.Inf(-1)))), lowest)
	var tops [4]reg.VecVirtual
	for k := range tops {
		tops[k] = l.vector()
		VMOVAPS(lowest, tops[k])
	}
	l.sweep(length("x"), func(vectors []place) {
		for k, p := range vectors {
			v := p.load(x)
			switch {
			case p.mask == nil:
			case l.wide():
				VBLENDMPS(v, lowest, p.mask, v)
			default:
				VBLENDVPS(p.mask, v, lowest, v)
			}
			VMAXPS(tops[k], v, tops[k]) // not v if that is NaN
		}
	}, 4)
	l.fold(tops, VMAXPS)
	l.end()
}

// fold combines all lanes into the result.
func (l level) fold(parts [4]reg.VecVirtual, combine func(...Op)) {
	combine(parts[1], parts[0], parts[0])
	combine(parts[3], parts[2], parts[2])
	combine(parts[2], parts[0], parts[0])
	low, high := parts[0], l.vector()
	if l.wide() {
		VEXTRACTF64X4(Imm(1), low, high.AsY())
		combine(high.AsY(), low.AsY(), low.AsY())
	}
	VEXTRACTF128(Imm(1), low.AsY(), high.AsX())
	combine(high.AsX(), low.AsX(), low.AsX())
	for _, lanes := range []uint64{0b01_00_11_10, 0b10_11_00_01} {
		VPERMILPS(Imm(lanes), low.AsX(), high.AsX())
		combine(high.AsX(), low.AsX(), low.AsX())
	}
	Store(low.AsX(), ReturnIndex(0))
}

// expSum subtracts the scalar, replaces by the exponential and sums. With n the integer
// nearest to x/ln 2, exp x = 2^n exp(x - n ln 2); the second factor is the polynomial of
// expf in Moshier's Cephes library, the first a shift into the exponent.
func (l level) expSum() {
	l.function("expSum", "(x []float32, top float32) float32")
	x, top := base("x"), l.scalar("top")
	var sums [4]reg.VecVirtual
	for k := range sums {
		sums[k] = l.zero()
	}
	l.sweep(length("x"), func(vectors []place) {
		for k, p := range vectors {
			v := p.load(x)
			VSUBPS(top, v, v)
			v = l.exp(v)
			p.store(v, x)
			switch {
			case p.mask == nil:
				VADDPS(v, sums[k], sums[k])
			case l.wide():
				VADDPS(v, sums[k], p.mask, sums[k])
			default:
				VANDPS(p.mask, v, v)
				VADDPS(v, sums[k], sums[k])
			}
		}
	}, 2)
	l.fold(sums, VADDPS)
	l.end()
}

func (l level) exp(x reg.VecVirtual) reg.VecVirtual {
	float := func(name string, v float64) Mem { return constant(name, math.Float32bits(float32(v))) }
	// Beyond these the result is +Inf and 0. NaN passes, since it stands first.
	limit, n, y := l.vector(), l.vector(), l.vector()
	VMOVUPS(float("expHigh", 89), limit)
	VMINPS(x, limit, x)
	VMOVUPS(float("expLow", -104), limit)
	VMAXPS(x, limit, x)

	VMULPS(float("log2e", math.Log2E), x, n)
	if l.wide() {
		VRNDSCALEPS(Imm(0), n, n)
	} else {
		VROUNDPS(Imm(0), n, n)
	}
	// ln 2 in two parts, so that n times the first is exact.
	VFNMADD231PS(float("ln2High", 0.693359375), n, x)
	VFNMADD231PS(float("ln2Low", -2.12194440e-4), n, x)
	VMOVUPS(float("exp7", 1.9875691500e-4), y)
	VFMADD213PS(float("exp6", 1.3981999507e-3), x, y)
	VFMADD213PS(float("exp5", 8.3334519073e-3), x, y)
	VFMADD213PS(float("exp4", 4.1665795894e-2), x, y)
	VFMADD213PS(float("exp3", 1.6666665459e-1), x, y)
	VFMADD213PS(float("exp2", 0.5), x, y)
	one := float("one", 1)
	square := l.vector()
	VMULPS(x, x, square)
	VFMADD213PS(x, square, y)
	VADDPS(one, y, y)
	if l.wide() {
		VSCALEFPS(n, y, y)
		return y
	}
	// Two powers, because one alone would leave the range of normal numbers.
	half := l.vector()
	VCVTPS2DQ(n, n)
	VPSRAD(Imm(1), n, half)
	VPSUBD(half, n, n)
	for _, power := range []reg.VecVirtual{half, n} {
		VPSLLD(Imm(23), power, power)
		VPADDD(one, power, power) // the exponent of 1 is the bias
		VMULPS(power, y, y)
	}
	return y
}
