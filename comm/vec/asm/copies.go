package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const pageBytes, lineBytes, sidePages = 4096, 64, 4

// copies writes copyPages, of whole runs of four pages: a line of each of the four, then the next.
// One stream of lines waits for memory at the start of each page, where its address has to be looked
// up and the prefetchers begin anew; others go on meanwhile. All four lines are loaded before one is
// stored: all lines at one place of a page share a set of the first-level cache, and a load that
// follows a store to the same place of another page waits for it.
func (l level) copies() {
	l.function("copyPages", "(dst, src []float32)")
	dst, src, left := base("dst"), base("src"), length("dst")
	labels := label("pages", "line", "done")
	pages, line, done := labels[0], labels[1], labels[2]
	Label(pages)
	CMPQ(left, U32(sidePages*pageBytes/4))
	JL(LabelRef(done))
	at := GP64()
	XORQ(at, at)
	Label(line)
	var loaded []reg.VecVirtual
	for _, part := range l.sideBySide(src, at) {
		v := l.vector()
		VMOVUPS(part, v)
		loaded = append(loaded, v)
	}
	for i, part := range l.sideBySide(dst, at) {
		VMOVUPS(loaded[i], part)
	}
	ADDQ(Imm(lineBytes), at)
	CMPQ(at, U32(pageBytes))
	JL(LabelRef(line))
	ADDQ(U32(sidePages*pageBytes), src)
	ADDQ(U32(sidePages*pageBytes), dst)
	SUBQ(U32(sidePages*pageBytes/4), left)
	JMP(LabelRef(pages))
	Label(done)
	l.end()
}

// sideBySide are the vectors of the lines that lie at bytes into each of the pages from base on.
func (l level) sideBySide(base, at reg.Register) (vectors []Mem) {
	for page := range sidePages {
		for part := 0; part < lineBytes; part += l.bytes {
			vectors = append(vectors, Mem{Base: base, Index: at, Scale: 1, Disp: page*pageBytes + part})
		}
	}
	return vectors
}
