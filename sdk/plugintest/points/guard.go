package points

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/sdk/host/layout"
	"github.com/psbench/psbench/sdk/host/process"
)

// guardedFloats are n values that end where a page begins that nobody may touch: who writes one
// too many, as only assembly, a C library or unsafe code can, faults. free gives them back.
func guardedFloats(n int) (values []float32, freeze func() error, free func(), err error) {
	page := os.Getpagesize()
	size := (4*max(1, n) + page - 1) / page * page
	memory, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("guarded memory: %w", err)
	}
	free = func() { _ = unix.Munmap(memory) } // nothing can be done
	for _, outer := range [][]byte{memory[:page], memory[page+size:]} {
		if err := unix.Mprotect(outer, unix.PROT_NONE); err != nil {
			free()
			return nil, nil, nil, fmt.Errorf("guarded memory: %w", err)
		}
	}
	inner := memory[page : page+size]
	freeze = func() error { return unix.Mprotect(inner, unix.PROT_READ) }
	return tensor.ViewFloat32(inner[size-4*n : size : size]), freeze, free, nil
}

// guard is guarded memory that a process owns.
type guard func()

// Close gives it back.
func (g guard) Close() error {
	g()
	return nil
}

// bindGuarded gives the model of a rank guarded memory, a bucket for each parameter.
func (r *Rank) bindGuarded(p *process.Process, plan []tensor.BucketSpec) (err error) {
	floats := func(n int) []float32 {
		values, _, free, e := guardedFloats(n)
		if e != nil {
			err = e
			return make([]float32, n)
		}
		p.OwnMemory(guard(free))
		return values
	}
	specs := r.Model.Parameters()
	gradients, store, e := layout.New(specs, plan, func(specs []tensor.BucketSpec) (*comm.Store, error) {
		store := comm.NewStore(specs)
		for _, b := range store.Buckets {
			b.Gradient.Values = floats(cap(b.Gradient.Values))[:len(b.Gradient.Values)]
		}
		return store, err
	})
	if e != nil {
		return e
	}
	r.Gradients, r.Buckets = gradients, store.Buckets
	for _, spec := range specs {
		r.Values = append(r.Values, tensor.Tensor{Shape: spec.Shape, Data: floats(tensor.Elements(spec.Shape))})
	}
	if err != nil {
		return err
	}
	return r.Model.Bind(r.Values, r.Gradients)
}
