package op

import (
	"fmt"
	"sync"

	"github.com/psbench/psbench/internal/comm/wire"
)

// Port is what all ports share, whatever carries their links: Serve, Close and the
// first error, which ends all links.
type Port struct {
	wire.Links

	mu      sync.Mutex
	closed  bool
	err     error
	serving chan struct{} // closed when Run has returned; nil before it
	State
}

// Run is Serve: it calls serve and returns the port's first error.
func (p *Port) Run(serve func()) error {
	p.mu.Lock()
	p.serving = make(chan struct{})
	defer close(p.serving)
	p.mu.Unlock()
	serve()
	return p.Err()
}

// Err is the first error.
func (p *Port) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Fail keeps the first error and ends all links. An error after Close is no failure.
func (p *Port) Fail(err error) {
	p.mu.Lock()
	if p.err == nil && !p.closed {
		p.err = err
	}
	p.mu.Unlock()
	_ = p.end()
}

func (p *Port) end() error {
	p.State.end()
	return p.Close()
}

// Shut ends all links and waits for Run. It is false if it was called before.
func (p *Port) Shut() (first bool, err error) {
	p.mu.Lock()
	first = !p.closed
	p.closed = true
	serving := p.serving
	p.mu.Unlock()
	if first {
		err = p.end()
	}
	if serving != nil {
		<-serving
	}
	return first, err
}

// CannotAnswer is the error of an answer that does not fit the push of a trainer.
func (p *Port) CannotAnswer(trainer int, why error) error {
	return fmt.Errorf("%s cannot answer %s: %w", p.Self, p.Conns[trainer].Peer(), why)
}

// NotInFlight is the error of a second answer to a push.
func (p *Port) NotInFlight(bucket, trainer int) error {
	return fmt.Errorf("%s answered bucket %d to %s, which has no push of it in flight",
		p.Self, bucket, p.Conns[trainer].Peer())
}
