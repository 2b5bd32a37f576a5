package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

const pageBytes, lineBytes = 4096, 64

// copies writes copyPages, of whole pairs of pages: a line of the first, then one of the second.
// One stream of lines waits for memory at the start of each page, where its address has to be looked
// up and the prefetchers begin anew; a second one goes on meanwhile. More streams are faster still
// from memory, but slower within the caches: all lines at one place of a page share a set.
func (l level) copies() {
	l.function("copyPages", "(dst, src []float32)")
	dst, src, left := base("dst"), base("src"), length("dst")
	labels := label("pair", "line", "done")
	pair, line, done := labels[0], labels[1], labels[2]
	Label(pair)
	CMPQ(left, U32(2*pageBytes/4))
	JL(LabelRef(done))
	at := GP64()
	XORQ(at, at)
	Label(line)
	for page := range 2 {
		for part := 0; part < lineBytes; part += l.bytes {
			v, disp := l.vector(), page*pageBytes+part
			VMOVUPS(Mem{Base: src, Index: at, Scale: 1, Disp: disp}, v)
			VMOVUPS(v, Mem{Base: dst, Index: at, Scale: 1, Disp: disp})
		}
	}
	ADDQ(Imm(lineBytes), at)
	CMPQ(at, U32(pageBytes))
	JL(LabelRef(line))
	ADDQ(U32(2*pageBytes), src)
	ADDQ(U32(2*pageBytes), dst)
	SUBQ(U32(2*pageBytes/4), left)
	JMP(LabelRef(pair))
	Label(done)
	l.end()
}
