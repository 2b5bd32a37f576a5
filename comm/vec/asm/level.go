package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// level is a set of vector instructions. Most have one name in both sets, and the
// registers say which is meant.
type level struct {
	name  string // ends the names of its kernels
	bytes int    // of a vector
}

func (l level) wide() bool { return l.bytes == 64 }

func (l level) vector() reg.VecVirtual {
	if l.wide() {
		return ZMM()
	}
	return YMM()
}

func (l level) zero() reg.VecVirtual {
	v := l.vector()
	VXORPS(v.AsY(), v.AsY(), v.AsY()) // clears the upper half too
	return v
}

// function begins a kernel that neither keeps its slices nor calls anything.
func (l level) function(name, signature string) {
	TEXT(name+l.name, NOSPLIT, "func"+signature)
	Pragma("noescape")
}

// end ends it. The upper halves are cleared because SSE code is slow otherwise.
func (l level) end() {
	VZEROUPPER()
	RET()
}

func base(slice string) reg.Register   { return Load(Param(slice).Base(), GP64()) }
func length(slice string) reg.Register { return Load(Param(slice).Len(), GP64()) }

// scalar is a parameter in all lanes.
func (l level) scalar(name string) reg.VecVirtual {
	p, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return l.broadcast(p.Addr)
}

func (l level) broadcast(m Mem) reg.VecVirtual {
	v := l.vector()
	VBROADCASTSS(m, v)
	return v
}

// place is where a vector lies, counted from the start of every slice: whole, or of its
// first elements alone.
type place struct {
	level
	index reg.Register // in elements
	disp  int          // in bytes
	mask  reg.Register // nil if whole
}

func (p place) of(base reg.Register) Mem {
	return Mem{Base: base, Index: p.index, Scale: 4, Disp: p.disp}
}

// load reads the vector; lanes that the mask excludes are 0.
func (p place) load(base reg.Register) reg.VecVirtual {
	v := p.vector()
	switch {
	case p.mask == nil:
		VMOVUPS(p.of(base), v)
	case p.wide():
		VMOVUPS_Z(p.of(base), p.mask, v)
	default:
		VMASKMOVPS(p.of(base), p.mask, v)
	}
	return v
}

func (p place) store(v, base reg.Register) {
	switch {
	case p.mask == nil:
		VMOVUPS(v, p.of(base))
	case p.wide():
		VMOVUPS(v, p.mask, p.of(base))
	default:
		VMASKMOVPS(v, p.mask, p.of(base))
	}
}

var labels int

// label returns labels that no other call returns.
func label(names ...string) []string {
	labels++
	for i, n := range names {
		names[i] = fmt.Sprintf("%s%d", n, labels)
	}
	return names
}

// sweep runs body over n elements: as many vectors at a time as the first unroll says,
// then as the next, at last one, and then the rest under a mask.
func (l level) sweep(n reg.Register, body func(vectors []place), unrolls ...int) {
	lanes := l.bytes / 4
	index, left := GP64(), GP64()
	XORQ(index, index)
	MOVQ(n, left)
	for _, unroll := range append(unrolls, 1) {
		loop := label("loop", "next")
		Label(loop[0])
		CMPQ(left, Imm(uint64(unroll*lanes)))
		JL(LabelRef(loop[1]))
		var vectors []place
		for k := range unroll {
			vectors = append(vectors, place{level: l, index: index, disp: k * l.bytes})
		}
		body(vectors)
		ADDQ(Imm(uint64(unroll*lanes)), index)
		SUBQ(Imm(uint64(unroll*lanes)), left)
		JMP(LabelRef(loop[0]))
		Label(loop[1])
	}
	done := label("done")[0]
	TESTQ(left, left)
	JZ(LabelRef(done))
	body([]place{{level: l, index: index, mask: l.mask(left)}})
	Label(done)
}

// mask selects the first n lanes, n below a vector's.
func (l level) mask(n reg.Register) reg.Register {
	if l.wide() {
		bits, mask := GP64(), K()
		MOVQ(I64(-1), bits)
		BZHIQ(n, bits, bits)
		KMOVW(bits.As32(), mask)
		return mask
	}
	at, from, mask := GP64(), GP64(), YMM()
	LEAQ(maskTable(), at)
	MOVQ(U32(8), from)
	SUBQ(n, from)
	VMOVUPS(Mem{Base: at, Index: from, Scale: 4}, mask)
	return mask
}

var masks *Mem

// maskTable is eight lanes of ones and eight of zeros.
func maskTable() Mem {
	if masks == nil {
		m := GLOBL("masks", RODATA|NOPTR)
		for i := range 16 {
			value := ^uint32(0)
			if i >= 8 {
				value = 0
			}
			DATA(4*i, U32(value))
		}
		masks = &m
	}
	return *masks
}

// constant is a value in all lanes of memory, for operands.
func constant(name string, bits uint32) Mem {
	if m, ok := constants[name]; ok {
		return m
	}
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 16 {
		DATA(4*i, U32(bits))
	}
	constants[name] = m
	return m
}

var constants = map[string]Mem{}
