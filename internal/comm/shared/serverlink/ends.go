package serverlink

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/internal/comm/op"
	"github.com/psbench/psbench/internal/comm/shared/layout"
	"github.com/psbench/psbench/internal/comm/shm"
	"github.com/psbench/psbench/internal/comm/wire"
)

// reaper is a link whose server leaves answers in its segment.
type reaper interface {
	// reap ends what the server has answered, with or without a waiter.
	reap()
}

// negotiator is a link whose sides settle more than segments before it works.
type negotiator interface {
	// show writes the trainer's terms into the control segment, for the server.
	show()
	// agree settles the rest, once each side has the other's segments.
	agree() error
}

// carrier moves gradients of a link on goroutines of its own.
type carrier interface {
	// settle waits, once the link has ended, until no goroutine touches a gradient.
	settle()
	// stop ends the goroutines, once the link has ended.
	stop()
}

// client is a trainer's end of a link through shared memory to a server, whatever
// the link carries. Each side sleeps at a bell of its own; the connection only tells of
// the other's end.
type client struct {
	*op.Life
	link     reaper
	terms    negotiator // nil where the sides settle nothing else
	carrier  carrier    // nil where only callers touch gradients
	conn     *wire.Conn
	control  *shm.Segment
	copies   *comm.Store  // of what lies outside the store; nil where nothing can
	doorbell *shm.Segment // of the server
	bell     shm.Bell     // where this side sleeps
	server   shm.Bell
	watched  chan struct{} // closed after the last read of conn
	closing  sync.Once
}

// open makes the control segment of this many bytes, and exchanges it, with what else the server is
// to map, for the server's doorbell.
func (c *client) open(controlSize int, others ...*shm.Segment) (err error) {
	if err := c.conn.Bound(c.Timeout); err != nil {
		return err
	}
	if c.control, err = shm.New(c.Self+" control", controlSize, true); err != nil {
		return err
	}
	if c.terms != nil {
		c.terms.show()
	}
	for _, s := range append([]*shm.Segment{c.control}, others...) {
		if err := c.conn.SendSegments(s); err != nil {
			return err
		}
	}
	if c.doorbell, err = c.conn.ReceiveSegment(layout.PageBytes, false); err != nil {
		return err
	}
	c.bell, c.server = layout.BellOf(c.control), layout.BellOf(c.doorbell)
	c.Waiters = c.bell
	if c.terms != nil {
		if err := c.terms.agree(); err != nil {
			return err
		}
	}
	return c.conn.Lift()
}

var errServerClosed = errors.New("it closed the link")

// start has the end of the connection end the link.
func (c *client) start() {
	c.watched = make(chan struct{})
	go func() {
		defer close(c.watched)
		err := op.Watch(c.conn, c.Awaited, c.Timeout)
		if err == nil {
			err = &comm.PeerError{Waiter: c.Self, Peer: c.conn.Peer(), What: c.Awaited(), Err: errServerClosed}
		}
		c.abort(err)
	}()
}

// await waits for the answer to o, unless another waiter has seen it. It calls reap whenever the condition is
// met: some or all of the answer is there, or the link has ended.
func (c *client) await(o *op.Operation, until shm.Condition) {
	for deadline, pending := c.Due(o); pending && !c.Ended(); {
		inTime := c.bell.Wait(until, deadline)
		if inTime {
			c.link.reap()
		}
		var next time.Time
		if next, pending = c.Due(o); pending && !inTime && next.Equal(deadline) {
			c.abort(c.Late(c.Awaits+o.String(), c.conn.Peer()))
			return
		}
		deadline = next // others may have seen the answer, and started o again
	}
}

// abort fails the link and its pending operations. Its memory stays mapped: a server that
// is only slow may still write an answer.
func (c *client) abort(err error) {
	c.link.reap()
	if c.Fail(err) {
		c.finish()
		_ = c.conn.Close()
	}
}

// finish fails the pending operations.
func (c *client) finish() {
	if c.carrier != nil {
		c.carrier.settle()
	}
	c.Finish()
}

// Close ends the link and waits for what runs on it. Closing again does nothing.
func (c *client) Close() error {
	c.closing.Do(func() {
		c.link.reap()
		orderly := c.Retire()
		c.finish()
		_ = op.Leave(orderly, c.conn)
		<-c.watched
		if c.carrier != nil {
			c.carrier.stop()
		}
		if orderly {
			c.unmap()
		}
	})
	return nil
}

// unmap gives the memory back; it must be out of use.
func (c *client) unmap() {
	for _, s := range []*shm.Segment{c.control, c.doorbell} {
		if s != nil {
			_ = s.Close()
		}
	}
	if c.copies != nil {
		_ = c.copies.Close()
	}
}

// slots is a server's view of its trainers' segments.
type slots interface {
	// admit takes the segments of a trainer, and settles the server's other terms before it
	// shows its doorbell.
	admit(trainer int, conn *wire.Conn) error
	// agree settles the rest, once the trainer has the doorbell.
	agree(trainer int, conn *wire.Conn) error
	// filled says whether there is anything to dispatch.
	filled() bool
}

// server is a server's side of its links through shared memory. One goroutine
// waits at the server's bell, looks at all slots when it rings and dispatches what is
// there. The connections only tell of the trainers' ends.
type server struct {
	op.Port
	slots    slots
	awaits   string       // what comes over the links, e.g. "a push"
	doorbell *shm.Segment // with the bell
	bell     shm.Bell
	left     []atomic.Bool // the trainers that have closed their link in order

	watchers sync.WaitGroup
}

// open exchanges segments with all trainers that it has connections to. After an error the caller gives back
// what admit took and the doorbell.
func (s *server) open() (err error) {
	s.left = make([]atomic.Bool, len(s.Conns))
	for i, conn := range s.Conns {
		s.left[i].Store(conn == nil)
	}
	if s.doorbell, err = shm.New(s.Self+" doorbell", layout.PageBytes, true); err == nil {
		s.bell = layout.BellOf(s.doorbell)
		s.Waiters = s.bell
		err = s.admitAll()
	}
	if err != nil {
		_ = s.Close()
		return err
	}
	for i, conn := range s.Conns {
		if conn != nil {
			s.watchers.Go(func() { s.watch(i, conn) })
		}
	}
	return nil
}

func (s *server) admitAll() error {
	for i, conn := range s.Conns {
		if conn == nil {
			continue
		}
		if err := conn.Bound(s.Timeout); err != nil {
			return err
		}
		if err := s.slots.admit(i, conn); err != nil {
			return err
		}
		if err := conn.SendSegments(s.doorbell); err != nil {
			return err
		}
		if err := s.slots.agree(i, conn); err != nil {
			return err
		}
		if err := conn.Lift(); err != nil {
			return err
		}
	}
	return nil
}

// work is a shm.Condition: a slot is filled, or the server need not wait for one any more.
type work struct{ s *server }

func (w work) Met() bool { return w.s.Ended() || w.s.slots.filled() || w.s.allLeft() }

// serve calls dispatch, which says how much it found, whenever some is there.
func (s *server) serve(dispatch func() (int, error)) error {
	return s.Run(func() {
		for s.bell.Wait(work{s}, time.Time{}) && !s.Ended() {
			found, err := dispatch()
			if err != nil {
				s.Fail(err)
				return
			}
			if found == 0 && s.allLeft() {
				return
			}
		}
	})
}

func (s *server) allLeft() bool {
	for i := range s.left {
		if !s.left[i].Load() {
			return false
		}
	}
	return true
}

// watch waits for the end of a trainer's connection.
func (s *server) watch(i int, conn *wire.Conn) {
	if err := op.Watch(conn, func() string { return "the wait for " + s.awaits }, 0); err != nil {
		s.Fail(err)
		return
	}
	s.left[i].Store(true)
	s.bell.Shake()
}

// shut ends all links and waits for serve. It says whether the memory may be given
// back: once, and only if all trainers had left. Otherwise it stays mapped until the
// process ends, for a plugin may still work in it.
func (s *server) shut() (unused bool) {
	first, _ := s.Shut()
	s.watchers.Wait()
	return first && s.Err() == nil && s.allLeft()
}
