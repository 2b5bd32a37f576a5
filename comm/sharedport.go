package comm

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm/shm"
)

// sharedPort is the server's side of the push/pull links of its trainers through
// shared memory. One goroutine waits at the port's bell, looks at all slots when
// it rings and hands over what was pushed, in the trainers' own memory.
type sharedPort struct {
	self     string
	timeout  time.Duration
	conns    []*Conn
	door     *shm.Segment
	bell     shm.Bell
	trainers []*sharedTrainer
	ready    func() bool

	dead     atomic.Bool // the port has failed or is closed
	watchers sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	err     error
	serving chan struct{} // closed when Serve has returned; nil before it
}

// sharedTrainer is what a sharedPort knows of one of its trainers.
type sharedTrainer struct {
	control *shm.Segment
	stores  [2]*Store // by place
	bell    shm.Bell
	slots   []*sharedArrival // in the order of the specs
	at      int              // the slot to look at next
	taken   uint32           // pushes that were handed over
	left    atomic.Bool      // it has closed its link in order
}

func newSharedPort(self string, conns []*Conn, specs []BucketSpec, timeout time.Duration) (*sharedPort, error) {
	p := &sharedPort{self: self, timeout: timeout, conns: conns}
	p.ready = func() bool { return p.dead.Load() || p.anyPush() || p.allLeft() }
	var err error
	if p.door, err = shm.New(self+" door", pageBytes, true); err == nil {
		p.bell = bellOf(p.door)
		for i, conn := range conns {
			if err = p.admit(i, conn, specs); err != nil {
				break
			}
		}
	}
	if err != nil {
		p.hangUp()
		p.unmap()
		return nil, err
	}
	for i, conn := range conns {
		p.watchers.Go(func() { p.watch(p.trainers[i], conn) })
	}
	return p, nil
}

// admit trades segments with a trainer and lays the slots over them.
func (p *sharedPort) admit(i int, conn *Conn, specs []BucketSpec) (err error) {
	t := &sharedTrainer{}
	p.trainers = append(p.trainers, t)
	if err := conn.bound(p.timeout); err != nil {
		return err
	}
	if t.control, err = conn.ReceiveSegment(pushControlSize(len(specs)), false); err != nil {
		return err
	}
	for place := range t.stores {
		s, err := conn.receiveStore(specs, int32(place) == inStore) // #nosec G115 -- one of two
		if err != nil {
			return err
		}
		t.stores[place] = s
	}
	if err := conn.SendSegment(p.door); err != nil {
		return err
	}
	t.bell = bellOf(t.control)
	lines := pushLines(t.control, len(specs))
	for k := range specs {
		a := &sharedArrival{spec: &specs[k], line: &lines[k], bell: t.bell}
		for place, store := range t.stores {
			a.places[place] = &store.Buckets[k].Gradient
		}
		a.Arrival = Arrival{Bucket: specs[k].Index, Trainer: i, Chunks: 1, port: p, slot: a}
		t.slots = append(t.slots, a)
	}
	return conn.lift()
}

// Store implements Port.
func (p *sharedPort) Store(trainer int) *Store { return p.trainers[trainer].stores[inStore] }

// Serve implements Port. handle runs on the calling goroutine.
func (p *sharedPort) Serve(handle func(*Arrival) error) error {
	p.mu.Lock()
	p.serving = make(chan struct{})
	defer close(p.serving)
	p.mu.Unlock()
	for p.bell.Wait(p.ready, time.Time{}) && !p.dead.Load() {
		pushes, err := p.take(handle)
		if err != nil {
			p.fail(err)
			break
		}
		if pushes == 0 && p.allLeft() {
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (p *sharedPort) allLeft() bool {
	for _, t := range p.trainers {
		if !t.left.Load() {
			return false
		}
	}
	return true
}

// watch reads a trainer's connection, over which nothing comes but its end.
func (p *sharedPort) watch(t *sharedTrainer, conn *Conn) {
	var h Header
	err := conn.readHeader(&h)
	switch {
	case err == nil && h.Op == opBye:
		t.left.Store(true)
		p.bell.Shake()
	case err == nil:
		p.fail(fmt.Errorf("%s sent operation %d to %s, which takes pushes by bells", conn.peer, h.Op, p.self))
	default:
		p.fail(conn.explain(err, "the wait for a push", 0))
	}
}

// fail keeps the first error and ends all links. What follows Close is no
// failure.
func (p *sharedPort) fail(err error) {
	p.mu.Lock()
	if p.err == nil && !p.closed {
		p.err = err
	}
	p.mu.Unlock()
	p.end()
}

func (p *sharedPort) end() {
	p.dead.Store(true)
	p.bell.Shake()
	p.hangUp()
}

func (p *sharedPort) hangUp() {
	for _, c := range p.conns {
		_ = c.Close()
	}
}

// Close implements Port. Unless all trainers have left and have their answers, the
// memory stays mapped until the process ends: a plugin may still work on a gradient.
func (p *sharedPort) Close() error {
	p.mu.Lock()
	again := p.closed
	p.closed = true
	serving := p.serving
	p.mu.Unlock()
	if again {
		return nil
	}
	p.end()
	p.watchers.Wait()
	if serving != nil {
		<-serving
	}
	if p.err == nil && p.allLeft() && p.allAnswered() {
		p.unmap()
	}
	return nil
}

func (p *sharedPort) allAnswered() bool {
	for _, t := range p.trainers {
		for _, a := range t.slots {
			if a.state.Load() != answered {
				return false
			}
		}
	}
	return true
}

func (p *sharedPort) unmap() {
	for _, t := range p.trainers {
		if t.control != nil {
			_ = t.control.Close()
		}
		for _, s := range t.stores {
			if s != nil {
				_ = s.Close()
			}
		}
	}
	if p.door != nil {
		_ = p.door.Close()
	}
}
