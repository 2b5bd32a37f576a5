package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// distance is how many rows ahead are asked for. Rows are far apart, so the processor
// cannot guess them.
const distance = 4

func (l level) rows() {
	l.gatherSum()
	l.gatherRows()
	l.scatterAxpy()
}

// gatherSum keeps the sums of some columns in registers while it goes through the rows.
func (l level) gatherSum() {
	l.function("gatherSum", "(dst, table []float32, rows []int64)")
	dst, width := base("dst"), length("dst")
	t := table{base: base("table"), rows: base("rows"), count: length("rows"), width: width, bytes: 8}
	unrolls := []int{4, 2}
	if !l.wide() {
		unrolls = []int{8, 4, 2}
	}
	l.sweep(width, func(vectors []place) {
		sums := make([]reg.VecVirtual, len(vectors))
		for k := range sums {
			sums[k] = l.zero()
		}
		t.each(func(row, ahead reg.Register) {
			for k, p := range vectors {
				p.prefetch(ahead)
				if p.mask == nil {
					VADDPS(p.of(row), sums[k], sums[k])
				} else {
					VADDPS(p.load(row), sums[k], sums[k])
				}
			}
		})
		for k, p := range vectors {
			p.store(sums[k], dst)
		}
	}, unrolls...)
	l.end()
}

func (l level) gatherRows() {
	l.function("gatherRows", "(dst, table []float32, width int, rows []int64)")
	dst, width := base("dst"), Load(Param("width"), GP64())
	t := table{base: base("table"), rows: base("rows"), count: length("rows"), width: width, bytes: 8}
	t.each(func(row, ahead reg.Register) {
		l.sweep(width, func(vectors []place) {
			for _, p := range vectors {
				p.prefetch(ahead)
				p.store(p.load(row), dst)
			}
		}, 4)
		LEAQ(Mem{Base: dst, Index: width, Scale: 4}, dst)
	})
	l.end()
}

func (l level) scatterAxpy() {
	l.function("scatterAxpy", "(a float32, src, table []float32, width int, rows []int32)")
	a, src, width := l.scalar("a"), base("src"), Load(Param("width"), GP64())
	t := table{base: base("table"), rows: base("rows"), count: length("rows"), width: width, bytes: 4}
	t.each(func(row, ahead reg.Register) {
		l.sweep(width, func(vectors []place) {
			for _, p := range vectors {
				p.prefetch(ahead)
				sum := p.load(row)
				VFMADD231PS(p.load(src), a, sum)
				p.store(sum, row)
			}
		}, 4)
		LEAQ(Mem{Base: src, Index: width, Scale: 4}, src)
	})
	l.end()
}

// prefetch asks for the cache line of a place; one of two halves of a line is enough.
func (p place) prefetch(base reg.Register) {
	if p.disp%64 == 0 {
		PREFETCHT0(p.of(base))
	}
}

// table is a list of rows of a table.
type table struct {
	base, rows, count, width reg.Register
	bytes                    uint8 // of a row's number
}

// each runs body for each row, with its address and that of a row further on.
func (t table) each(body func(row, ahead reg.Register)) {
	loop := label("row", "rowsDone")
	i := GP64()
	XORQ(i, i)
	Label(loop[0])
	CMPQ(i, t.count)
	JGE(LabelRef(loop[1]))
	next := GP64()
	LEAQ(Mem{Base: i, Disp: distance}, next)
	CMPQ(next, t.count)
	CMOVQGE(i, next)
	body(t.address(i), t.address(next))
	INCQ(i)
	JMP(LabelRef(loop[0]))
	Label(loop[1])
}

func (t table) address(i reg.Register) reg.Register {
	row := GP64()
	number := Mem{Base: t.rows, Index: i, Scale: t.bytes}
	if t.bytes == 8 {
		MOVQ(number, row)
	} else {
		MOVLQSX(number, row)
	}
	IMULQ(t.width, row)
	LEAQ(Mem{Base: t.base, Index: row, Scale: 4}, row)
	return row
}
