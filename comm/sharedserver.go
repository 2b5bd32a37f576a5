package comm

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm/shm"
)

// sharedServer is a server's side of its links through shared memory. One goroutine
// waits at the server's bell, looks at all slots when it rings and takes what is
// there. The connections only tell of the trainers' ends.
type sharedServer struct {
	Links
	awaits string       // what comes over the links, e.g. "a push"
	some   func() bool  // whether some of it is there
	ready  func() bool  // or anything else to wake up for
	door   *shm.Segment // with the bell
	bell   shm.Bell
	left   []atomic.Bool // the trainers that have closed their link in order

	dead     atomic.Bool // the server has failed or is closed
	watchers sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	err     error
	serving chan struct{} // closed when serve has returned; nil before it
}

// open trades segments with all trainers: admit takes those of trainer i. After an
// error the caller gives back what admit took and the door.
func (s *sharedServer) open(admit func(i int, conn *Conn) error) (err error) {
	s.ready = func() bool { return s.dead.Load() || s.some() || s.allLeft() }
	s.left = make([]atomic.Bool, len(s.Conns))
	if s.door, err = shm.New(s.Self+" door", pageBytes, true); err == nil {
		s.bell = bellOf(s.door)
		err = s.admitAll(admit)
	}
	if err != nil {
		s.hangUp()
		return err
	}
	for i, conn := range s.Conns {
		s.watchers.Go(func() { s.watch(i, conn) })
	}
	return nil
}

func (s *sharedServer) admitAll(admit func(i int, conn *Conn) error) error {
	for i, conn := range s.Conns {
		if err := conn.bound(s.Timeout); err != nil {
			return err
		}
		if err := admit(i, conn); err != nil {
			return err
		}
		if err := conn.SendSegment(s.door); err != nil {
			return err
		}
		if err := conn.lift(); err != nil {
			return err
		}
	}
	return nil
}

// serve calls take, which says how much it took, whenever some is there.
func (s *sharedServer) serve(take func() (int, error)) error {
	s.mu.Lock()
	s.serving = make(chan struct{})
	defer close(s.serving)
	s.mu.Unlock()
	for s.bell.Wait(s.ready, time.Time{}) && !s.dead.Load() {
		taken, err := take()
		if err != nil {
			s.fail(err)
			break
		}
		if taken == 0 && s.allLeft() {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *sharedServer) allLeft() bool {
	for i := range s.left {
		if !s.left[i].Load() {
			return false
		}
	}
	return true
}

// watch reads a trainer's connection, over which nothing comes but its end.
func (s *sharedServer) watch(i int, conn *Conn) {
	var h Header
	err := conn.readHeader(&h)
	switch {
	case err == nil && h.Op == opBye:
		s.left[i].Store(true)
		s.bell.Shake()
	case err == nil:
		s.fail(fmt.Errorf("%s sent operation %d to %s, whose links work by bells", conn.peer, h.Op, s.Self))
	default:
		s.fail(conn.explain(err, "the wait for "+s.awaits, 0))
	}
}

// fail keeps the first error and ends all links. What follows Close is no
// failure.
func (s *sharedServer) fail(err error) {
	s.mu.Lock()
	if s.err == nil && !s.closed {
		s.err = err
	}
	s.mu.Unlock()
	s.end()
}

func (s *sharedServer) end() {
	s.dead.Store(true)
	s.bell.Shake()
	s.hangUp()
}

func (s *sharedServer) hangUp() {
	for _, c := range s.Conns {
		_ = c.Close()
	}
}

// shut ends all links and waits for serve. It says whether the memory may be given
// back: once, and only if all trainers had left. Otherwise it stays mapped until the
// process ends, for a plugin may still work in it.
func (s *sharedServer) shut() (unused bool) {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	serving := s.serving
	s.mu.Unlock()
	if again {
		return false
	}
	s.end()
	s.watchers.Wait()
	if serving != nil {
		<-serving
	}
	return s.err == nil && s.allLeft()
}
