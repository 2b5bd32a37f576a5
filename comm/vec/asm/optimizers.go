package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// All loads of a vector come before its stores: operands often start at the same place
// in their pages, and a load that follows such a store has to wait for it.
func (l level) optimizers() {
	l.sgd()
	l.momentum("momentum", false)
	l.momentum("nesterov", true)
	l.adam()
	l.adagrad()
}

func (l level) sgd() {
	l.function("sgd", "(w, g []float32, lr, weightDecay float32)")
	w, g := base("w"), base("g")
	lr, decay := l.scalar("lr"), l.scalar("weightDecay")
	l.sweep(length("w"), func(vectors []place) {
		for _, p := range vectors {
			value, d := p.load(w), p.load(g)
			VFMADD231PS(value, decay, d)
			VFNMADD231PS(d, lr, value)
			p.store(value, w)
		}
	}, 4)
	l.end()
}

func (l level) momentum(name string, nesterov bool) {
	l.function(name, "(w, g, v []float32, lr, momentum, weightDecay float32)")
	w, g, v := base("w"), base("g"), base("v")
	lr, momentum, decay := l.scalar("lr"), l.scalar("momentum"), l.scalar("weightDecay")
	l.sweep(length("w"), func(vectors []place) {
		for _, p := range vectors {
			value, d, velocity := p.load(w), p.load(g), p.load(v)
			VFMADD231PS(value, decay, d)
			VFMADD213PS(d, momentum, velocity)
			p.store(velocity, v)
			if nesterov {
				VFMADD213PS(d, momentum, velocity)
			}
			VFNMADD231PS(velocity, lr, value)
			p.store(value, w)
		}
	}, 4)
	l.end()
}

func (l level) adam() {
	l.function("adam", "(w, g, m, v []float32, f *[8]float32)")
	w, g, m, v := base("w"), base("g"), base("m"), base("v")
	factors := Load(Param("f"), GP64())
	var f [8]reg.VecVirtual
	for i := range f {
		f[i] = l.broadcast(Mem{Base: factors, Disp: 4 * i})
	}
	decay, keep1, take1, keep2, take2, root, epsilon, step := f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]
	l.sweep(length("w"), func(vectors []place) {
		for _, p := range vectors {
			value, d, first, second := p.load(w), p.load(g), p.load(m), p.load(v)
			VFMADD231PS(value, decay, d)
			VMULPS(keep1, first, first)
			VFMADD231PS(d, take1, first)
			p.store(first, m)
			VMULPS(keep2, second, second)
			VMULPS(d, d, d)
			VFMADD231PS(d, take2, second)
			p.store(second, v)
			VSQRTPS(second, second)
			VFMADD213PS(epsilon, root, second)
			VMULPS(step, first, first)
			VDIVPS(second, first, first)
			VSUBPS(first, value, value)
			p.store(value, w)
		}
	}, 2)
	l.end()
}

func (l level) adagrad() {
	l.function("adagrad", "(w, g, s []float32, lr, epsilon float32)")
	w, g, s := base("w"), base("g"), base("s")
	lr, epsilon := l.scalar("lr"), l.scalar("epsilon")
	l.sweep(length("w"), func(vectors []place) {
		for _, p := range vectors {
			value, d, sum := p.load(w), p.load(g), p.load(s)
			VFMADD231PS(d, d, sum)
			p.store(sum, s)
			VSQRTPS(sum, sum)
			VADDPS(epsilon, sum, sum)
			VMULPS(lr, d, d)
			VDIVPS(sum, d, d)
			VSUBPS(d, value, value)
			p.store(value, w)
		}
	}, 2)
	l.end()
}
