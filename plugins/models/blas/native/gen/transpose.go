package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// transpose writes the kernel that packs a matrix across its rows. transpose turns eight columns of four rows into
// eight runs of four numbers.
func transpose() {
	TEXT("transposeAVX2", NOSPLIT, "func(n int, dst *float32, stride int, src *float32, ld int)")
	Doc("transposeAVX2 writes n columns of 4 rows of src to dst, where they are rows of 4. n is a multiple of 8.")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	dst, stride := Load(Param("dst"), GP64()), Load(Param("stride"), GP64())
	src, ld := Load(Param("src"), GP64()), Load(Param("ld"), GP64())
	src2 := GP64()
	SHLQ(Imm(2), stride)
	SHLQ(Imm(2), ld)
	LEAQ(Mem{Base: src, Index: ld, Scale: 2}, src2)

	Label("loop")
	rows := []reg.Register{reg.Y0, reg.Y1, reg.Y2, reg.Y3}
	for i, r := range rows {
		base := src
		if i >= 2 {
			base = src2
		}
		if i%2 == 0 {
			VMOVUPS(Mem{Base: base}, r)
		} else {
			VMOVUPS(Mem{Base: base, Index: ld, Scale: 1}, r)
		}
	}
	VUNPCKLPS(reg.Y1, reg.Y0, reg.Y4)
	VUNPCKHPS(reg.Y1, reg.Y0, reg.Y5)
	VUNPCKLPS(reg.Y3, reg.Y2, reg.Y6)
	VUNPCKHPS(reg.Y3, reg.Y2, reg.Y7)
	columns := []reg.VecPhysical{reg.Y0, reg.Y1, reg.Y2, reg.Y3}
	VUNPCKLPD(reg.Y6, reg.Y4, columns[0])
	VUNPCKHPD(reg.Y6, reg.Y4, columns[1])
	VUNPCKLPD(reg.Y7, reg.Y5, columns[2])
	VUNPCKHPD(reg.Y7, reg.Y5, columns[3])
	for _, c := range columns {
		VMOVUPS(c.AsX(), Mem{Base: dst})
		ADDQ(stride, dst)
	}
	for _, c := range columns {
		VEXTRACTF128(Imm(1), c, Mem{Base: dst})
		ADDQ(stride, dst)
	}
	ADDQ(Imm(32), src)
	ADDQ(Imm(32), src2)
	SUBQ(Imm(8), n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
