package shared

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/psbench/psbench/comm/internal/op"
	"github.com/psbench/psbench/comm/shared/layout"
	"github.com/psbench/psbench/comm/shm"
	"github.com/psbench/psbench/comm/wire"
)

// server is a server's side of its links through shared memory. One goroutine
// waits at the server's bell, looks at all slots when it rings and takes what is
// there. The connections only tell of the trainers' ends.
type server struct {
	op.Port
	awaits   string       // what comes over the links, e.g. "a push"
	some     func() bool  // whether some of it is there
	ready    func() bool  // or anything else to wake up for
	doorbell *shm.Segment // with the bell
	bell     shm.Bell
	left     []atomic.Bool // the trainers that have closed their link in order

	watchers sync.WaitGroup
}

// open trades segments with all trainers: admit takes those of trainer i. After an
// error the caller gives back what admit took and the doorbell.
func (s *server) open(admit func(i int, conn *wire.Conn) error) (err error) {
	s.ready = func() bool { return s.Ended() || s.some() || s.allLeft() }
	s.left = make([]atomic.Bool, len(s.Conns))
	if s.doorbell, err = shm.New(s.Self+" doorbell", layout.PageBytes, true); err == nil {
		s.bell = layout.BellOf(s.doorbell)
		s.Wake = s.bell.Shake
		err = s.admitAll(admit)
	}
	if err != nil {
		_ = s.Close()
		return err
	}
	for i, conn := range s.Conns {
		s.watchers.Go(func() { s.watch(i, conn) })
	}
	return nil
}

func (s *server) admitAll(admit func(i int, conn *wire.Conn) error) error {
	for i, conn := range s.Conns {
		if err := conn.Bound(s.Timeout); err != nil {
			return err
		}
		if err := admit(i, conn); err != nil {
			return err
		}
		if err := conn.SendSegments(s.doorbell); err != nil {
			return err
		}
		if err := conn.Lift(); err != nil {
			return err
		}
	}
	return nil
}

// serve calls take, which says how much it took, whenever some is there.
func (s *server) serve(take func() (int, error)) error {
	return s.Run(func() {
		for s.bell.Wait(s.ready, time.Time{}) && !s.Ended() {
			taken, err := take()
			if err != nil {
				s.Fail(err)
				return
			}
			if taken == 0 && s.allLeft() {
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
