// Package enginetest provides an engine for tests. Go cannot touch its memory, just like a
// device's: an access ends the process.
//
// Each piece of its memory is mapped twice. The dark address, which callers get, can be neither
// read nor written. At the lit address the engine's kernels compute. The kernels are psbench's own
// models, criteria and optimizers, which see ordinary memory. Parts wraps them: the wrapper
// translates addresses and detects memory that did not come from the engine.
package enginetest

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/vec"
	"github.com/psbench/psbench/sdk/engine"
	"github.com/psbench/psbench/sdk/optimizer"
)

// Config lists the types and optimizers of an engine.
type Config struct {
	Types      []engine.Type
	Optimizers []string
}

// Full has all types and optimizers that psbench's own parts need.
var Full = Config{
	Types:      []engine.Type{engine.Float32, engine.Int32, engine.Int64},
	Optimizers: []string{optimizer.SGD, optimizer.Adam, optimizer.Adagrad, optimizer.RowwiseAdagrad},
}

// Dark is an engine whose memory Go cannot touch.
type Dark struct {
	config  Config
	out, in stream

	mu      sync.Mutex
	blocks  []*block
	freed   []*block
	adopted [][]byte
}

// quarantined is how many freed blocks keep their addresses, so that a later use of one ends the
// process: another mapping could reuse an unmapped address at once.
const quarantined = 64

// block is a piece of memory.
type block struct{ dark, lit []byte }

var (
	_ optimizer.Engine = (*Dark)(nil)
	_ engine.Averager  = (*Dark)(nil)
	_ engine.Opener    = Full.Open
)

// New makes an engine.
func New(c Config) *Dark {
	d := &Dark{config: c}
	d.out.start()
	d.in.start()
	return d
}

// Open is New as a plugin needs it.
func (c Config) Open() (engine.Engine, error) { return New(c), nil }

// Name implements engine.Engine.
func (d *Dark) Name() string { return "dark" }

// Addressable implements engine.Engine.
func (d *Dark) Addressable() bool { return false }

// Facts implements sdk.Describer.
func (d *Dark) Facts() map[string]string { return map[string]string{"memory": d.Name()} }

// Alloc implements engine.Engine.
func (d *Dark) Alloc(t engine.Type, elements int) ([]byte, error) {
	if !slices.Contains(d.config.Types, t) {
		return nil, engine.Lacks(d.Name(), t, d.config.Types...)
	}
	n := elements * t.Bytes()
	b, err := newBlock(max(n, 1))
	if err != nil {
		return nil, fmt.Errorf("engine %s has no memory for %d bytes: %w", d.Name(), n, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.blocks = append(d.blocks, b)
	return b.dark[:n:n], nil
}

func newBlock(n int) (*block, error) {
	fd, err := unix.MemfdCreate("dark", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }() // the mappings stay
	if err := unix.Ftruncate(fd, int64(n)); err != nil {
		return nil, err
	}
	b := &block{}
	if b.dark, err = unix.Mmap(fd, 0, n, unix.PROT_NONE, unix.MAP_SHARED); err != nil {
		return nil, err
	}
	b.lit, err = unix.Mmap(fd, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return b, err
}

// leave gives the memory back, but not the addresses.
func (b *block) leave() error {
	return errors.Join(unix.Madvise(b.lit, unix.MADV_REMOVE), unix.Mprotect(b.lit, unix.PROT_NONE))
}

func (b *block) unmap() error { return errors.Join(unix.Munmap(b.dark), unix.Munmap(b.lit)) }

// Free implements engine.Engine.
func (d *Dark) Free(memory []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.blocks, func(b *block) bool { return at(b.dark, memory) == 0 })
	if i < 0 {
		panic("memory is freed that was not allocated, or not from its beginning")
	}
	if err := d.blocks[i].leave(); err != nil {
		panic(err)
	}
	d.freed = append(d.freed, d.blocks[i])
	d.blocks = slices.Delete(d.blocks, i, i+1)
	if len(d.freed) > quarantined {
		if err := d.freed[0].unmap(); err != nil {
			panic(err)
		}
		d.freed = slices.Delete(d.freed, 0, 1)
	}
}

// Adopt implements engine.Engine. It has nothing to do, but what is adopted must be closed
// before the engine is.
func (d *Dark) Adopt(host []byte) (io.Closer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.adopted = append(d.adopted, host)
	return adoption{d, host}, nil
}

type adoption struct {
	engine *Dark
	host   []byte
}

// Close implements io.Closer.
func (a adoption) Close() error {
	a.engine.mu.Lock()
	defer a.engine.mu.Unlock()
	a.engine.adopted = slices.DeleteFunc(a.engine.adopted, func(host []byte) bool { return at(a.host, host) == 0 })
	return nil
}

// CopyOut implements engine.Engine.
func (d *Dark) CopyOut(host, memory []byte) engine.Ticket {
	return engine.Ticket{Number: d.out.copy(host, d.lit(memory))}
}

// CopyIn implements engine.Engine.
func (d *Dark) CopyIn(memory, host []byte) engine.Ticket {
	return engine.Ticket{In: true, Number: d.in.copy(d.lit(memory), host)}
}

// Wait implements engine.Engine.
func (d *Dark) Wait(t engine.Ticket) error {
	if t.In {
		return d.in.wait(t.Number)
	}
	return d.out.wait(t.Number)
}

// Mean implements engine.Averager.
func (d *Dark) Mean(mean []float32, parts [][]float32) error {
	sum := d.litFloats(mean)
	copy(sum, d.litFloats(parts[0]))
	for _, p := range parts[1:] {
		vec.Add(sum, d.litFloats(p))
	}
	if len(parts) > 1 {
		vec.Scale(1/float32(len(parts)), sum)
	}
	return nil
}

// Fail has all further copies of one direction fail.
func (d *Dark) Fail(in bool, err error) {
	if in {
		d.in.fail(err)
	} else {
		d.out.fail(err)
	}
}

// Hold has copies out wait, or no longer.
func (d *Dark) Hold(held bool) { d.out.hold(held) }

// Close implements engine.Engine. Buckets that are adopted still are an error.
func (d *Dark) Close() error {
	d.out.end()
	d.in.end()
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	for _, b := range slices.Concat(d.blocks, d.freed) {
		err = errors.Join(err, b.unmap())
	}
	d.blocks, d.freed = nil, nil
	if len(d.adopted) > 0 {
		err = errors.Join(err,
			fmt.Errorf("engine %s ends while %d pieces of memory are adopted", d.Name(), len(d.adopted)))
	}
	return err
}

// NewOptimizer implements optimizer.Engine: it is psbench's own, in the light.
func (d *Dark) NewOptimizer(s optimizer.Settings, values []tensor.Tensor,
	gradients []*tensor.Gradient) (optimizer.Optimizer, error) {
	o := &steps{engine: d, gradients: gradients, lit: d.litGradients(gradients)}
	var err error
	o.Optimizer, err = optimizer.New(d.Inside(), s, d.litTensors(values), o.lit)
	return o, err
}

// Optimizers implements optimizer.Engine.
func (d *Dark) Optimizers() []string { return d.config.Optimizers }

// steps is an optimizer with its gradients in the dark.
type steps struct {
	optimizer.Optimizer
	engine         *Dark
	gradients, lit []*tensor.Gradient
}

// Step implements optimizer.Optimizer. A sparse gradient has other rows each time.
func (o *steps) Step() error {
	for k, g := range o.gradients {
		if g.Sparse() {
			if err := o.lit[k].SetRows(len(g.Rows)); err != nil {
				return err
			}
		}
	}
	return o.Optimizer.Step()
}
