package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const prefetchRows = 16 // rows between the prefetch and the use of a row of b

// tile writes the kernel for the packed product. The sums stay in registers during the loop over k. Each step
// multiplies two vectors of b by one number of each row of a.
func tile(s isa) {
	TEXT("tile"+s.name, NOSPLIT, "func(rows, k int, a, b *float32, ldb int, alpha, beta float32, c *float32, ldc int)")
	Doc(fmt.Sprintf("tile%s computes c = alpha*a*b + beta*c for 1 to %d rows of c and %d columns. a is packed:", s.name,
		s.tileRows, tileVectors*s.bytes/float),
		"one number of each row after the other, k times. k is at least 1.")
	Pragma("noescape")
	rows := Load(Param("rows"), GP64())
	t := tileRegisters{
		isa: s,
		k:   Load(Param("k"), GP64()), a: Load(Param("a"), GP64()),
		b: Load(Param("b"), GP64()), ldb: Load(Param("ldb"), GP64()),
		c: Load(Param("c"), GP64()), ldc: Load(Param("ldc"), GP64()),
		ahead: GP64(),
	}
	SHLQ(Imm(2), t.ldb)
	SHLQ(Imm(2), t.ldc)
	IMUL3Q(Imm(prefetchRows), t.ldb, t.ahead)
	for r := s.tileRows; r > 1; r-- {
		CMPQ(rows, Imm(uint64(r)))
		JE(LabelRef(fmt.Sprintf("rows%d", r)))
	}
	for r := 1; r <= s.tileRows; r++ {
		Label(fmt.Sprintf("rows%d", r))
		t.rows(r)
		VZEROUPPER()
		RET()
	}
}

type tileRegisters struct {
	isa
	k, a, b, ldb, c, ldc, ahead reg.Register
}

func (t tileRegisters) rows(r int) {
	t.zero(r * tileVectors)

	loop := fmt.Sprintf("loop%d", r)
	Label(loop)
	var b [tileVectors]reg.Register
	for v := range b {
		b[v] = t.last(v)
		VMOVUPS(Mem{Base: t.b, Disp: v * t.bytes}, b[v])
	}
	for line := 0; line < tileVectors*t.bytes; line += 64 {
		PREFETCHT1(Mem{Base: t.b, Index: t.ahead, Scale: 1, Disp: line})
	}
	for i := range r {
		a := t.last(tileVectors + i%2)
		VBROADCASTSS(Mem{Base: t.a, Disp: i * float}, a)
		for v := range b {
			VFMADD231PS(b[v], a, t.vector(i*tileVectors+v))
		}
	}
	ADDQ(Imm(uint64(r*float)), t.a)
	ADDQ(t.ldb, t.b)
	DECQ(t.k)
	JNZ(LabelRef(loop))

	t.store(r)
}

// store scales the sums and writes them to c. store reads c unless beta is 0.
func (t tileRegisters) store(r int) {
	alpha, beta, bits := t.last(0), t.last(1), GP32()
	VBROADCASTSS(param("alpha"), alpha)
	VBROADCASTSS(param("beta"), beta)
	for i := range r * tileVectors {
		VMULPS(t.vector(i), alpha, t.vector(i))
	}
	MOVL(param("beta"), bits)
	SHLL(Imm(1), bits) // drops the sign, so that -0 counts as 0
	write := fmt.Sprintf("write%d", r)
	row := GP64()
	MOVQ(t.c, row)
	JZ(LabelRef(write))
	t.each(r, row, func(c Mem, sums reg.Register) { VFMADD231PS(c, beta, sums) })
	Label(write)
	t.each(r, t.c, func(c Mem, sums reg.Register) { VMOVUPS(sums, c) })
}

// each visits the vectors of c. each advances row from the first row of c to the last.
func (t tileRegisters) each(r int, row reg.Register, visit func(c Mem, sums reg.Register)) {
	for i := range r {
		for v := range tileVectors {
			visit(Mem{Base: row, Disp: v * t.bytes}, t.vector(i*tileVectors+v))
		}
		if i < r-1 {
			ADDQ(t.ldc, row)
		}
	}
}

// param returns the memory operand of an argument.
func param(name string) Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}
