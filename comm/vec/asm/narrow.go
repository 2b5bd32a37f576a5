package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// format is an element type of 16 bits. Its kernels compute in float32 and round once, to the nearest even.
type format struct {
	level
	typ string // ends the name of a kernel, before that of the level
	rounding
}

// stepElements is how many elements a kernel takes in each step of its loop. The caller passes whole steps.
const stepElements = 32

// lanes is how many elements a vector of float32 holds.
func (f format) lanes() int { return f.bytes / 4 }

// loop runs body for each pair of vectors of n elements. The pointers of halves and of singles (float32) advance.
func (f format) loop(n reg.Register, halves, singles []reg.Register, body func(k int)) {
	l := label("loop", "done")
	Label(l[0])
	TESTQ(n, n)
	JZ(LabelRef(l[1]))
	for k := 0; k < stepElements/f.lanes(); k += 2 {
		body(k)
	}
	for _, p := range halves {
		ADDQ(Imm(2*stepElements), p)
	}
	for _, p := range singles {
		ADDQ(Imm(4*stepElements), p)
	}
	SUBQ(Imm(stepElements), n)
	JMP(LabelRef(l[0]))
	Label(l[1])
	f.end()
}

// half is vector k of 16-bit elements from base on, single that of float32.
func (f format) half(base reg.Register, k int) Mem   { return Mem{Base: base, Disp: 2 * k * f.lanes()} }
func (f format) single(base reg.Register, k int) Mem { return Mem{Base: base, Disp: 4 * k * f.lanes()} }

// pair is two vectors of float32.
type pair [2]reg.VecVirtual

// order is that of the elements of a pair. Within lanes of 128 bits the AVX2 instructions for bfloat16 unpack and pack
// elements in matching order, so only what is stored as float32 needs the order of memory.
type order bool

const (
	ofMemory order = true
	ofLanes  order = false
)

// unpacks says that bfloat16 elements are unpacked and packed in lanes.
func (f format) unpacks() bool { return f.typ == "BFloat16" && !f.wide() }

// widen reads two vectors of 16-bit elements, from vector k on, as float32.
func (f format) widen(base reg.Register, k int, in order) (p pair) {
	if f.unpacks() {
		v, zero := f.vector(), f.zero()
		VMOVDQU(f.half(base, k), v)
		if in == ofMemory {
			VPERMQ(Imm(0xd8), v, v)
		}
		p = pair{f.vector(), f.vector()}
		VPUNPCKLWD(v, zero, p[0])
		VPUNPCKHWD(v, zero, p[1])
		return p
	}
	for i := range p {
		p[i] = f.vector()
		if f.typ == "Float16" {
			VCVTPH2PS(f.half(base, k+i), p[i])
			continue
		}
		VPMOVZXWD(f.half(base, k+i), p[i])
		VPSLLD(Imm(16), p[i], p[i])
	}
	return p
}

// narrow rounds two vectors into 16-bit elements, and overwrites them.
func (f format) narrow(p pair, dst reg.Register, k int, in order) {
	for i, v := range p {
		switch {
		case f.typ == "Float16":
			VCVTPS2PH(Imm(0), v, f.half(dst, k+i))
		case f.wide():
			f.round(v)
			VPMOVDW(v, f.half(dst, k+i))
		default:
			f.round(v)
		}
	}
	if f.unpacks() {
		VPACKUSDW(p[1], p[0], p[0])
		if in == ofMemory {
			VPERMQ(Imm(0xd8), p[0], p[0])
		}
		VMOVDQU(p[0], f.half(dst, k))
	}
}

// rounding are the constants of round, in registers: unaligned memory operands cost twice the time.
type rounding struct{ lowest, below reg.VecVirtual }

// prepare loads the constants that narrow needs.
func (f *format) prepare() {
	if f.typ == "BFloat16" {
		f.rounding = rounding{f.broadcast(constant("lowestBit", 1)), f.broadcast(constant("below", 0x7fff))}
	}
}

// round makes each lane the 16 bits of a rounded bfloat16. A NaN keeps its upper bits: what is added to the others
// might carry into an infinity, or beyond. It is quiet, because an addition or a multiplication made it.
// VCVTNEPS2BF16 is no alternative, because it takes denormal values for 0.
func (f format) round(v reg.VecVirtual) {
	add := f.vector()
	VPSRLD(Imm(16), v, add)
	if f.wide() {
		number := K()
		VCMPPS(Imm(7), v, v, number) // ordered
		VPANDD(f.lowest, add, add)
		VPADDD(f.below, add, add)
		VPADDD(add, v, number, v)
	} else {
		nan := f.vector()
		VCMPPS(Imm(3), v, v, nan) // unordered
		VPAND(f.lowest, add, add)
		VPADDD(f.below, add, add)
		VPANDN(add, nan, add)
		VPADDD(add, v, v)
	}
	VPSRLD(Imm(16), v, v)
}

func (l level) narrowed() {
	for _, typ := range []string{"BFloat16", "Float16"} {
		f := format{level: l, typ: typ}
		f.casts()
		f.sums()
	}
}

func (f format) casts() {
	f.function("widen"+f.typ, "(dst []float32, src []uint16)")
	dst, src := base("dst"), base("src")
	f.loop(length("src"), []reg.Register{src}, []reg.Register{dst}, func(k int) {
		for i, v := range f.widen(src, k, ofMemory) {
			VMOVUPS(v, f.single(dst, k+i))
		}
	})

	f.function("addWidened"+f.typ, "(sum []float32, src []uint16)")
	sum, src := base("sum"), base("src")
	f.loop(length("src"), []reg.Register{src}, []reg.Register{sum}, func(k int) {
		for i, v := range f.widen(src, k, ofMemory) {
			VADDPS(f.single(sum, k+i), v, v)
			VMOVUPS(v, f.single(sum, k+i))
		}
	})

	f.function("narrow"+f.typ, "(dst []uint16, a float32, src []float32)")
	f.prepare()
	dst, a, src := base("dst"), f.scalar("a"), base("src")
	f.loop(length("dst"), []reg.Register{dst}, []reg.Register{src}, func(k int) {
		p := pair{f.vector(), f.vector()}
		for i, v := range p {
			VMULPS(f.single(src, k+i), a, v)
		}
		f.narrow(p, dst, k, ofMemory)
	})
}

func (f format) sums() {
	f.function("add"+f.typ, "(dst, src []uint16)")
	f.prepare()
	dst, src := base("dst"), base("src")
	f.loop(length("dst"), []reg.Register{dst, src}, nil, func(k int) {
		f.narrow(f.sum(dst, src, k), dst, k, ofLanes)
	})

	f.function("addBoth"+f.typ, "(a float32, x, y []uint16)")
	f.prepare()
	a, x, y := f.scalar("a"), base("x"), base("y")
	f.loop(length("x"), []reg.Register{x, y}, nil, func(k int) {
		sum := f.sum(x, y, k)
		f.scaled(a, sum)
		f.narrow(sum, x, k, ofLanes)
		for at := 0; at < 4*f.lanes(); at += 32 { // what narrow wrote
			half := YMM()
			VMOVDQU(Mem{Base: x, Disp: 2*k*f.lanes() + at}, half)
			VMOVDQU(half, Mem{Base: y, Disp: 2*k*f.lanes() + at})
		}
	})

	f.function("scale"+f.typ, "(a float32, x []uint16)")
	f.prepare()
	a, x = f.scalar("a"), base("x")
	f.loop(length("x"), []reg.Register{x}, nil, func(k int) {
		p := f.widen(x, k, ofLanes)
		f.scaled(a, p)
		f.narrow(p, x, k, ofLanes)
	})
}

// sum is two vectors of x and y, from vector k on, widened and added.
func (f format) sum(x, y reg.Register, k int) pair {
	p, q := f.widen(x, k, ofLanes), f.widen(y, k, ofLanes)
	for i, v := range p {
		VADDPS(q[i], v, v)
	}
	return p
}

func (f format) scaled(a reg.VecVirtual, p pair) {
	for _, v := range p {
		VMULPS(a, v, v)
	}
}

// integers are sums that wrap. The elements of a step fill whole vectors.
func (l level) integers() {
	for _, i := range []struct {
		name, slice string
		bytes       int
		add         func(...Op)
	}{{"addInt32", "[]int32", 4, VPADDD}, {"addInt64", "[]int64", 8, VPADDQ}} {
		l.function(i.name, "(dst, src "+i.slice+")")
		dst, src, n := base("dst"), base("src"), length("dst")
		at := label("loop", "done")
		Label(at[0])
		TESTQ(n, n)
		JZ(LabelRef(at[1]))
		for k := 0; k < stepElements*i.bytes; k += l.bytes {
			v := l.vector()
			VMOVUPS(Mem{Base: dst, Disp: k}, v)
			i.add(Mem{Base: src, Disp: k}, v, v)
			VMOVUPS(v, Mem{Base: dst, Disp: k})
		}
		ADDQ(U32(uint32(stepElements*i.bytes)), dst)
		ADDQ(U32(uint32(stepElements*i.bytes)), src)
		SUBQ(Imm(stepElements), n)
		JMP(LabelRef(at[0]))
		Label(at[1])
		l.end()
	}
}
