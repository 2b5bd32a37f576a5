package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// dot writes the kernel for a product with a transposed matrix. Vectors run along k. Each sum has its own vector,
// whose elements are added at the end.
func dot(s isa) {
	TEXT("dot"+s.name, NOSPLIT,
		"func(rows, columns, k int, a *float32, lda int, b *float32, ldb int, alpha, beta float32, c *float32, ldc int)")
	Doc(fmt.Sprintf(
		"dot%s computes c = alpha*a*bᵀ + beta*c for 1 to %d rows of a and 1 or %d rows of b, all of k numbers.",
		s.name, s.dotRows, dotColumns))
	Pragma("noescape")
	rows, columns := Load(Param("rows"), GP64()), Load(Param("columns"), GP64())
	d := dotRegisters{
		isa: s,
		k:   Load(Param("k"), GP64()),
		a:   Load(Param("a"), GP64()), lda: Load(Param("lda"), GP64()), a3: GP64(),
		b: Load(Param("b"), GP64()), ldb: Load(Param("ldb"), GP64()), b3: GP64(),
		c: Load(Param("c"), GP64()), ldc: Load(Param("ldc"), GP64()),
	}
	SHLQ(Imm(2), d.lda)
	SHLQ(Imm(2), d.ldb)
	SHLQ(Imm(2), d.ldc)
	LEAQ(Mem{Base: d.a, Index: d.lda, Scale: 2}, d.a3)
	ADDQ(d.lda, d.a3)
	LEAQ(Mem{Base: d.b, Index: d.ldb, Scale: 2}, d.b3)
	ADDQ(d.ldb, d.b3)
	CMPQ(columns, Imm(1))
	JE(LabelRef("single"))
	d.dispatch("", rows, dotColumns)
	Label("single")
	d.dispatch("single", rows, 1)
}

type dotRegisters struct {
	isa
	k, a, lda, a3, b, ldb, b3, c, ldc reg.Register
}

func (d dotRegisters) dispatch(prefix string, rows reg.Register, columns int) {
	for r := d.dotRows; r > 1; r-- {
		CMPQ(rows, Imm(uint64(r)))
		JE(LabelRef(fmt.Sprintf("%srows%d", prefix, r)))
	}
	for r := 1; r <= d.dotRows; r++ {
		name := fmt.Sprintf("%srows%d", prefix, r)
		Label(name)
		d.block(name, r, columns)
		VZEROUPPER()
		RET()
	}
}

func (d dotRegisters) block(name string, rows, columns int) {
	width := d.bytes / float
	d.zero(rows * columns)
	SUBQ(Imm(uint64(width)), d.k)
	JL(LabelRef(name + "tail"))

	Label(name + "loop")
	for i := range rows {
		VMOVUPS(d.rowA(i), d.last(1+i))
	}
	for j := range columns {
		VMOVUPS(d.rowB(j), d.last(0))
		for i := range rows {
			VFMADD231PS(d.last(0), d.last(1+i), d.vector(i*columns+j))
		}
	}
	for _, p := range []reg.Register{d.a, d.a3, d.b, d.b3} {
		ADDQ(Imm(uint64(d.bytes)), p)
	}
	SUBQ(Imm(uint64(width)), d.k)
	JGE(LabelRef(name + "loop"))

	Label(name + "tail")
	ADDQ(Imm(uint64(width)), d.k)
	JZ(LabelRef(name + "sum"))
	load := d.masked()
	for j := range columns {
		load(d.rowB(j), d.last(1))
		for i := range rows {
			load(d.rowA(i), d.last(2))
			VFMADD231PS(d.last(1), d.last(2), d.vector(i*columns+j))
		}
	}

	Label(name + "sum")
	d.store(name, rows, columns)
}

// rowA is the current position in a's row i; rowB is the same for b.
func (d dotRegisters) rowA(i int) Mem { return row(d.a, d.a3, d.lda, i) }
func (d dotRegisters) rowB(i int) Mem { return row(d.b, d.b3, d.ldb, i) }

func row(base, base3, stride reg.Register, i int) Mem {
	if i >= 3 {
		base = base3
	}
	if i%3 == 0 {
		return Mem{Base: base}
	}
	return Mem{Base: base, Index: stride, Scale: uint8(i % 3)}
}

// masked returns a load for the last k numbers, fewer than a vector holds. The load does not touch memory behind
// them.
func (d dotRegisters) masked() func(from Mem, to reg.Register) {
	if d.bytes == 64 {
		bits, mask := GP64(), K()
		MOVQ(d.k, reg.RCX)
		MOVQ(U64(1), bits)
		SHLQ(reg.CL, bits)
		DECQ(bits)
		KMOVW(bits.As32(), mask)
		return func(from Mem, to reg.Register) { VMOVUPS_Z(from, mask, to) }
	}
	table, mask := GP64(), d.last(0)
	LEAQ(maskTable(), table)
	NEGQ(d.k)
	VMOVUPS(Mem{Base: table, Index: d.k, Scale: float, Disp: 8 * float}, mask)
	return func(from Mem, to reg.Register) { VMASKMOVPS(from, mask, to) }
}

var table Mem

// maskTable holds eight words of one bits, then eight words of zero bits.
func maskTable() Mem {
	if table.Base == nil {
		table = GLOBL("mask", RODATA|NOPTR)
		for i := range 8 {
			DATA(i*float, U32(0xffffffff))
		}
		for i := range 8 {
			DATA((8+i)*float, U32(0))
		}
	}
	return table
}

// store adds up each sum's vector, row by row, and writes c. store reads c unless beta is 0.
func (d dotRegisters) store(name string, rows, columns int) {
	bits := GP32()
	alpha, beta := xmm[d.lastNumber(0)], xmm[d.lastNumber(1)]
	VBROADCASTSS(param("alpha"), alpha)
	VBROADCASTSS(param("beta"), beta)
	MOVL(param("beta"), bits)
	SHLL(Imm(1), bits) // drops the sign, so that -0 counts as 0
	for i := range rows {
		sums := d.reduce(i*columns, columns)
		VMULPS(alpha, sums, sums)
		write := fmt.Sprintf("%swrite%d", name, i)
		TESTL(bits, bits)
		JZ(LabelRef(write))
		if columns == 1 {
			VFMADD231SS(Mem{Base: d.c}, beta, sums)
		} else {
			VFMADD231PS(Mem{Base: d.c}, beta, sums)
		}
		Label(write)
		if columns == 1 {
			VMOVSS(sums, Mem{Base: d.c})
		} else {
			VMOVUPS(sums, Mem{Base: d.c})
		}
		if i < rows-1 {
			ADDQ(d.ldc, d.c)
		}
	}
}

// reduce adds up n vectors, starting at register first. reduce leaves the sums side by side in register 0. Earlier
// rows must be finished, because reduce overwrites the first registers.
func (d dotRegisters) reduce(first, n int) reg.Register {
	half := xmm[d.lastNumber(2)]
	for j := range n {
		from := xmm[first+j]
		if d.bytes == 64 {
			VEXTRACTF64X4(Imm(1), from.AsZ(), half.AsY())
			VADDPS(from.AsY(), half.AsY(), xmm[j].AsY())
		} else if first > 0 {
			VMOVAPS(from.AsY(), xmm[j].AsY())
		}
	}
	if n == 1 {
		VHADDPS(reg.Y0, reg.Y0, reg.Y0)
		VHADDPS(reg.Y0, reg.Y0, reg.Y0)
	} else {
		VHADDPS(reg.Y1, reg.Y0, reg.Y0)
		VHADDPS(reg.Y3, reg.Y2, reg.Y2)
		VHADDPS(reg.Y2, reg.Y0, reg.Y0)
	}
	if d.bytes == 64 {
		VEXTRACTF32X4(Imm(1), reg.Y0, half)
	} else {
		VEXTRACTF128(Imm(1), reg.Y0, half)
	}
	VADDPS(half, reg.X0, reg.X0)
	return reg.X0
}
