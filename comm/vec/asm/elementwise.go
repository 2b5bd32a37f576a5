package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

func (l level) elementwise() {
	l.function("add", "(dst, src []float32)")
	dst, src := base("dst"), base("src")
	l.sweep(length("dst"), func(vectors []place) {
		for _, p := range vectors {
			x := p.load(dst)
			VADDPS(p.load(src), x, x)
			p.store(x, dst)
		}
	}, 4)
	l.end()

	l.function("addBoth", "(a float32, x, y []float32)")
	a, x, y := l.scalar("a"), base("x"), base("y")
	l.sweep(length("x"), func(vectors []place) {
		for _, p := range vectors {
			sum := p.load(x)
			VADDPS(p.load(y), sum, sum)
			VMULPS(a, sum, sum)
			p.store(sum, x)
			p.store(sum, y)
		}
	}, 4)
	l.end()

	l.function("scale", "(a float32, x []float32)")
	a, x = l.scalar("a"), base("x")
	l.sweep(length("x"), func(vectors []place) {
		for _, p := range vectors {
			v := p.load(x)
			VMULPS(a, v, v)
			p.store(v, x)
		}
	}, 4)
	l.end()

	l.function("axpy", "(a float32, x, y []float32)")
	a, x, y = l.scalar("a"), base("x"), base("y")
	l.sweep(length("y"), func(vectors []place) {
		for _, p := range vectors {
			sum := p.load(y)
			VFMADD231PS(p.load(x), a, sum)
			p.store(sum, y)
		}
	}, 4)
	l.end()
}

func (l level) activations() {
	l.function("relu", "(x []float32)")
	x, zero := base("x"), l.zero()
	l.sweep(length("x"), func(vectors []place) {
		for _, p := range vectors {
			v := p.load(x)
			VMAXPS(v, zero, v) // the operand that stands first is the result if one is NaN
			VADDPS(zero, v, v) // -0 becomes 0
			p.store(v, x)
		}
	}, 4)
	l.end()

	l.function("reluGradient", "(gradient, y []float32)")
	gradient, y, zero := base("gradient"), base("y"), l.zero()
	l.sweep(length("gradient"), func(vectors []place) {
		for _, p := range vectors {
			g, v := p.load(gradient), p.load(y)
			notEqual := Imm(4) // or unordered
			if l.wide() {
				keep := K()
				VCMPPS(notEqual, zero, v, keep)
				VMOVUPS_Z(g, keep, g)
			} else {
				VCMPPS(notEqual, zero, v, v)
				VANDPS(v, g, g)
			}
			p.store(g, gradient)
		}
	}, 4)
	l.end()

	l.function("centre", "(dx, dy, y []float32, dot float32)")
	dx, dy, y := base("dx"), base("dy"), base("y")
	dot := l.scalar("dot")
	l.sweep(length("dx"), func(vectors []place) {
		for _, p := range vectors {
			v := p.load(dy)
			VSUBPS(dot, v, v)
			VMULPS(p.load(y), v, v)
			p.store(v, dx)
		}
	}, 4)
	l.end()
}
