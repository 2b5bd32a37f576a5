package mixed

import (
	"errors"
	"sync"

	"github.com/psbench/psbench/comm"
)

// ports combines two ports: one for the trainers of this host, one for the
// trainers of other hosts. Each port waits for its own trainers, on its own
// goroutines.
type ports[P closer] struct {
	within, between P
	serving         sync.RWMutex // held for reading while Serve runs
}

type closer interface{ Close() error }

// serve runs both ports until both have ended, and returns the first error. The
// first error also ends the other port.
func (p *ports[P]) serve(serve func(P) error) error {
	p.serving.RLock()
	defer p.serving.RUnlock()
	var once sync.Once
	var first error
	run := func(own, other P) {
		if err := serve(own); err != nil {
			once.Do(func() { first = err })
			_ = other.Close()
		}
	}
	var between sync.WaitGroup
	between.Go(func() { run(p.between, p.within) })
	run(p.within, p.between)
	between.Wait()
	return first
}

// Close ends all links and waits for Serve.
func (p *ports[P]) Close() error {
	err := errors.Join(p.within.Close(), p.between.Close())
	p.serving.Lock()
	p.serving.Unlock() //nolint:staticcheck // who gets the lock now knows that Serve has returned
	return err
}

// port is a comm.Port of two ports. Pushes from this host stay in the trainer's
// memory. If pushes from other hosts come in chunks, so do pushes from this
// host: the server can then reduce a chunk as soon as it has arrived from the
// other hosts.
type port struct {
	ports[comm.Port]
	here []bool // by trainer: the trainer is on this host
}

// Serve implements comm.Port. For trainers of this host, handle runs on the
// calling goroutine. Each trainer of another host has a goroutine that calls
// handle.
func (p *port) Serve(handle func(*comm.Arrival) error) error {
	return p.serve(func(one comm.Port) error { return one.Serve(handle) })
}

// Stores implements comm.Port.
func (p *port) Stores(trainer int) []*comm.Store {
	if p.here[trainer] {
		return p.within.Stores(trainer)
	}
	return p.between.Stores(trainer)
}

// tablePort is a comm.TablePort of two ports. The server handles one call at a
// time, over both ports.
type tablePort struct {
	ports[comm.TablePort]
	handling sync.Mutex
	failed   error // error of a call; after it, no more calls are handled
}

// Serve implements comm.TablePort.
func (p *tablePort) Serve(handle func(*comm.TableCall) error) error {
	one := func(c *comm.TableCall) error {
		p.handling.Lock()
		defer p.handling.Unlock()
		if p.failed == nil {
			p.failed = handle(c)
		}
		return p.failed
	}
	return p.serve(func(port comm.TablePort) error { return port.Serve(one) })
}
