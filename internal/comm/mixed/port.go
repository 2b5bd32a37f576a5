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

// port is a comm.Port made of two. Pushes of this host's trainers stay in their memory. They come in
// chunks if pushes from other hosts do, so the server reduces a chunk as soon as the wire has brought it.
type port struct {
	ports[comm.Port]
	here []bool // by trainer: it is of this host
}

// by trainer: the trainer is on this host
func (p *port) Serve(handle func(*comm.Arrival) error) error {
	return p.serve(func(one comm.Port) error { return one.Serve(handle) })
}

// Serve implements comm.Port. For trainers of this host, handle runs on the
// calling goroutine. Each trainer of another host has a goroutine that calls
// handle.
func (p *port) Stores(trainer int) []*comm.Store {
	if p.here[trainer] {
		return p.within.Stores(trainer)
	}
	return p.between.Stores(trainer)
}

// tablePort is a comm.TablePort of two. Calls are handled one at a time, whichever brings them.
type tablePort struct {
	ports[comm.TablePort]
	handling sync.Mutex
	failed   error // tablePort is a comm.TablePort of two ports. The server handles one call at a time, over both ports.
}

// error of a call; after it, no more calls are handled
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
