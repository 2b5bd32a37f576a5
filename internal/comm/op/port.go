package op

import (
	"fmt"
	"sync"

	"github.com/psbench/psbench/internal/comm/wire"
)

// Port is the part that all ports share, over any transport: Serve, Close and
// the first error, which ends all links.
type Port struct {
	wire.Links

	mu      sync.Mutex
	closed  bool
	err     error
	serving chan struct{} // closed when Run returns; nil before Run
	State
}

// Run implements Serve: it calls serve and returns the port's first error.
func (p *Port) Run(serve func()) error {
	p.mu.Lock()
	p.serving = make(chan struct{})
	defer close(p.serving)
	p.mu.Unlock()
	serve()
	return p.Err()
}

// Err returns the first error.
func (p *Port) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Fail records the first error and ends all links. Fail does not record errors
// after Close.
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

// Shut ends all links and waits for Run. first is false if Shut was called
// before.
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

// CannotAnswer returns the error for an answer that does not fit the trainer's
// push.
func (p *Port) CannotAnswer(trainer int, why error) error {
	return fmt.Errorf("%s cannot answer %s: %w", p.Self, p.Conns[trainer].Peer(), why)
}

// NotInFlight returns the error for a second answer to a push.
func (p *Port) NotInFlight(bucket, trainer int) error {
	return fmt.Errorf("%s answered bucket %d to %s, which has no push of it in flight",
		p.Self, bucket, p.Conns[trainer].Peer())
}
