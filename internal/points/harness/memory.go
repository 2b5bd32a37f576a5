package harness

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/host/layout"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk/engine"
)

// GuardedFloats returns n values that end directly before an inaccessible page. If assembly, a C library or unsafe
// code writes one value too many, it causes a fault. free releases the values.
func GuardedFloats(n int) (values []float32, freeze func() error, free func(), err error) {
	page := os.Getpagesize()
	size := (4*max(1, n) + page - 1) / page * page
	memory, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("guarded memory: %w", err)
	}
	free = func() { _ = unix.Munmap(memory) } // an error has no remedy here
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

// guard is guarded memory that belongs to a process.
type guard func()

// Close releases the memory.
func (g guard) Close() error {
	g()
	return nil
}

// guardedStore creates buckets with guarded values. Each bucket has its own page.
func guardedStore(p *process.Process, plan []tensor.BucketSpec) (*comm.Store, error) {
	store := comm.NewStore(plan)
	for _, b := range store.Buckets {
		values, err := ownGuarded(p, cap(b.Gradient.Values))
		if err != nil {
			return nil, err
		}
		b.Gradient.Values = values[:len(b.Gradient.Values)]
	}
	return store, nil
}

// ownGuarded returns guarded values that belong to a process.
func ownGuarded(p *process.Process, n int) ([]float32, error) {
	values, _, free, err := GuardedFloats(n)
	if err == nil {
		p.OwnMemory(guard(free))
	}
	return values, err
}

// bindGuarded gives a rank's model guarded memory, one bucket for each parameter.
func (r *Rank) bindGuarded(p *process.Process, plan []tensor.BucketSpec) (err error) {
	specs := r.Model.Parameters()
	allocate := func(plan []tensor.BucketSpec) (*comm.Store, error) { return guardedStore(p, plan) }
	gradients, store, err := layout.New(specs, plan, allocate)
	if err != nil {
		return err
	}
	r.Gradients, r.Buckets = gradients, store.Buckets
	for _, spec := range specs {
		values, err := ownGuarded(p, tensor.Elements(spec.Shape))
		if err != nil {
			return err
		}
		r.Values = append(r.Values, tensor.Tensor{Shape: spec.Shape, Data: values})
	}
	return r.Model.Bind(r.Values, r.Gradients)
}

// bind gives a rank's model its memory, in the buckets of a plan.
func (r *Rank) bind(p *process.Process, plan []tensor.BucketSpec) (*comm.Store, error) {
	specs := r.Model.Parameters()
	gradients, store, err := layout.New(specs, plan, p.NewStore)
	if err != nil {
		return nil, err
	}
	p.OwnMemory(store)
	r.Gradients, r.Buckets = gradients, store.Buckets
	if r.Values, err = layout.NewValues(engine.Host, specs); err != nil {
		return nil, err
	}
	return store, r.Model.Bind(r.Values, r.Gradients)
}
