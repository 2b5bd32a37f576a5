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

// reaper is a link that finds its server's answers in its segment.
type reaper interface {
	// reap completes all operations that the server has answered, with or
	// without a waiter.
	reap()
}

// negotiator is a link whose sides negotiate terms, beyond exchanging segments,
// before the link works.
type negotiator interface {
	// show writes the trainer's terms into the control segment, for the server.
	show()
	// agree completes the negotiation, once each side has the other's segments.
	agree() error
}

// carrier moves a link's gradients on its own goroutines.
type carrier interface {
	// settle waits until no goroutine touches a gradient. The link must have
	// ended.
	settle()
	// stop ends the goroutines. The link must have ended.
	stop()
}

// client is a trainer's end of a link to a server through shared memory, for
// buckets or lookups. Each side sleeps at its own bell; the connection only
// reports the end of the other side.
type client struct {
	*op.Life
	link     reaper
	terms    negotiator // nil if there is nothing to negotiate
	carrier  carrier    // nil if only callers touch gradients
	conn     *wire.Conn
	control  *shm.Segment
	copies   *comm.Store  // for gradients outside the store; nil if none can lie there
	doorbell *shm.Segment // the server's segment
	bell     shm.Bell     // the bell at which this side sleeps
	server   shm.Bell
	watched  chan struct{} // closed after the last read of conn
	closing  sync.Once
}

// open makes a control segment of this size in bytes. open sends the control
// segment and the segments in others to the server, and receives the server's
// doorbell.
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

// start ends the link when the connection ends.
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

// await waits for the answer to o, unless another waiter has already seen it.
// await calls reap whenever the condition is met: a part or all of the answer
// has arrived, or the link has ended.
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
		deadline = next // others may have seen the answer and started o again
	}
}

// abort fails the link and its pending operations. The link's memory stays
// mapped, because a slow server may still write an answer.
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

// Close ends the link and waits for its goroutines. Closing again does nothing.
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

// unmap frees the memory, which nothing may use any more.
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
	// admit receives a trainer's segments and decides the server's terms. The
	// trainer gets the server's doorbell afterwards.
	admit(trainer int, conn *wire.Conn) error
	// agree completes the negotiation, once the trainer has the doorbell.
	agree(trainer int, conn *wire.Conn) error
	// filled reports whether there is anything to dispatch.
	filled() bool
}

// server is a server's side of its links through shared memory. One goroutine
// waits at the server's bell, checks all slots when the bell rings, and
// dispatches new arrivals. The connections only report the ends of the
// trainers.
type server struct {
	op.Port
	slots    slots
	awaits   string       // what the server waits for, e.g. "a push"
	doorbell *shm.Segment // segment with the bell
	bell     shm.Bell
	left     []atomic.Bool // trainers that have closed their link in order

	watchers sync.WaitGroup
}

// open exchanges segments with all trainers that have a connection. After an
// error the caller must free the doorbell and the segments that admit received.
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

// work is a shm.Condition: a slot is filled, or the server need not wait any
// more.
type work struct{ s *server }

func (w work) Met() bool { return w.s.Ended() || w.s.slots.filled() || w.s.allLeft() }

// serve calls dispatch whenever there are arrivals. dispatch returns the number
// that it found.
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

// shut ends all links and waits for serve. shut returns true if the caller may
// free the memory: only on the first call, and only if all trainers had left.
// Otherwise the memory stays mapped until the process ends, because a plugin
// may still use it.
func (s *server) shut() (unused bool) {
	first, _ := s.Shut()
	s.watchers.Wait()
	return first && s.Err() == nil && s.allLeft()
}
