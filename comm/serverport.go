package comm

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ServerPort is the server's side of the push/pull links of its trainers.
type ServerPort struct {
	self    string
	conns   []*Conn
	slots   [][]*Arrival // by trainer, then bucket index
	timeout time.Duration

	mu     sync.Mutex
	closed bool
	err    error
}

// Arrival is a push that was received. The port owns one per trainer and
// bucket and uses it again for that trainer's next push of that bucket, so it
// is valid until it is answered.
type Arrival struct {
	Batch   int64
	Bucket  int
	Trainer int // position among the port's connections
	// Gradient holds the push; the server may overwrite it until it answers.
	Gradient *Gradient
	// AtNS is when the last byte was received, in ns of Now.
	AtNS int64

	port     *ServerPort
	spec     BucketSpec
	gradient Gradient
	pushed   atomic.Bool // received and not yet answered
}

// NewServerPort makes the port of the server named self. conns[i] is its
// trainer i; the port owns the connections from now on. It allocates one
// gradient per trainer and bucket. An answer must be accepted by its trainer
// within timeout.
func NewServerPort(self string, conns []*Conn, specs []BucketSpec, timeout time.Duration) *ServerPort {
	p := &ServerPort{self: self, conns: conns, timeout: timeout}
	for trainer := range conns {
		p.slots = append(p.slots, byIndex(specs, func(spec BucketSpec) *Arrival {
			a := &Arrival{Bucket: spec.Index, Trainer: trainer, port: p, spec: spec, gradient: NewGradient(spec)}
			a.Gradient = &a.gradient
			return a
		}))
	}
	return p
}

// Serve reads pushes until every trainer has closed its link in order, Close
// is called or something fails, which ends all links, and returns the first
// error. It calls handle with each push on a goroutine of that push's trainer,
// so handle runs for several trainers at once and delays only its own. An
// error of handle ends Serve. A trainer may take as long as it likes between
// pushes. Serve may be called once.
func (p *ServerPort) Serve(handle func(*Arrival) error) error {
	var readers sync.WaitGroup
	for trainer := range p.conns {
		readers.Go(func() {
			if err := p.read(trainer, handle); err != nil {
				p.fail(err)
			}
		})
	}
	readers.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Close ends all links; Serve then returns.
func (p *ServerPort) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return p.hangUp()
}

// fail keeps the first error and ends all links. What follows Close is no
// failure.
func (p *ServerPort) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil && !p.closed {
		p.err = err
	}
	_ = p.hangUp()
}

func (p *ServerPort) hangUp() (err error) {
	for _, c := range p.conns {
		if e := c.Close(); err == nil {
			err = e
		}
	}
	return err
}

// read receives the pushes of one trainer until its goodbye.
func (p *ServerPort) read(trainer int, handle func(*Arrival) error) error {
	c := p.conns[trainer]
	var h Header
	for {
		if err := c.readHeader(&h); err != nil {
			return c.explain(err, "the wait for a push", 0)
		}
		if h.Op == opBye {
			return nil
		}
		a := at(p.slots[trainer], int(h.Bucket))
		switch {
		case h.Op != opPush:
			return fmt.Errorf("%s sent operation %d to %s, which expects pushes", c.peer, h.Op, p.self)
		case a == nil:
			return fmt.Errorf("%s pushed bucket %d of batch %d to %s, which does not serve it", c.peer, h.Bucket, h.Batch, p.self)
		case a.pushed.Load():
			return fmt.Errorf("%s pushed batch %d, bucket %d to %s before batch %d of that bucket was answered", c.peer, h.Batch, h.Bucket, p.self, a.Batch)
		}
		if err := readGradient(c, &h, &a.spec, &a.gradient); err != nil {
			return c.explain(err, fmt.Sprintf("the push of batch %d, bucket %d", h.Batch, h.Bucket), 0)
		}
		a.Batch, a.AtNS = h.Batch, Now()
		a.pushed.Store(true)
		if err := handle(a); err != nil {
			return err
		}
	}
}

// Answer sends g to the trainer in place of what it pushed. g may be
// a.Gradient and must stay as it is until Answer returns. Each arrival is
// answered once, from any goroutine. If the trainer does not take the answer,
// by its deadline or at all, the error ends Serve as well.
//
// A trainer may push the bucket again as soon as it has its answer, even
// before Answer returns: then a already stands for the next push.
func (a *Arrival) Answer(g *Gradient) error {
	c := a.port.conns[a.Trainer]
	if err := a.spec.check(g); err != nil {
		return fmt.Errorf("%s cannot answer %s: %w", a.port.self, c.peer, err)
	}
	rows, values := Int32Bytes(g.Rows), Float32Bytes(g.Values)
	h := Header{Op: opAnswer, Batch: a.Batch, Bucket: int32(a.Bucket), Rows: int32(len(g.Rows))} // #nosec G115 -- rows are int32
	// Released before it is sent: the trainer's next push may be here before
	// the send returns.
	if !a.pushed.CompareAndSwap(true, false) {
		return fmt.Errorf("%s answered bucket %d to %s, which has no push of it in flight", a.port.self, a.Bucket, c.peer)
	}
	err := c.sendBy(time.Now().Add(a.port.timeout), &h, rows, values)
	if err == nil {
		return nil
	}
	err = c.explainSend(err, fmt.Sprintf("the answer to batch %d, bucket %d", h.Batch, h.Bucket), int64(a.port.timeout))
	a.port.fail(err)
	return err
}
