package agent

import (
	"net"
	"sync"
	"time"
)

// Limits of who connects and may be a stranger: how many at once, and how long each may take to prove that it knows
// the secret and to say what it wants; how long while others wait, in the kernel's queue, which costs nothing. A
// stranger costs no more than that. They are so many, and so long, that the core's own calls to the processes of a
// busy host, a tunnel for each, are not cut short: gRPC would have the process for lost.
const (
	mostStrangers = 64
	strangerLimit = 10 * time.Second
	crowdedLimit  = time.Second
)

// accept takes connections until its listener is closed, once it is over. So many may be strangers at once: take, which
// must not wait, has one of their places until it calls free. Until then the connection has a deadline, which take
// removes after that.
func accept(l net.Listener, over <-chan struct{}, take func(conn net.Conn, free func())) {
	s := strangers{places: make(chan struct{}, mostStrangers), since: map[net.Conn]time.Time{}}
	for {
		conn, err := l.Accept()
		if err != nil {
			select {
			case <-over:
				return
			case <-time.After(10 * time.Millisecond): // out of descriptors, most likely
				continue
			}
		}
		if !s.admit(conn, over) {
			_ = conn.Close()
			return
		}
		take(conn, func() { s.free(conn) })
	}
}

// strangers are connections of whom nobody knows yet.
type strangers struct {
	places chan struct{}
	mu     sync.Mutex
	since  map[net.Conn]time.Time
}

// admit gives a connection a place, as soon as there is one; false means that it is over.
func (s *strangers) admit(conn net.Conn, over <-chan struct{}) bool {
	select {
	case s.places <- struct{}{}:
	default:
		s.hurry()
		select {
		case s.places <- struct{}{}:
		case <-over:
			return false
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since[conn] = time.Now()
	_ = conn.SetDeadline(s.since[conn].Add(strangerLimit)) // fails only once closed, and then reads fail too
	return true
}

// hurry shortens the time of all that have a place.
func (s *strangers) hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn, since := range s.since {
		_ = conn.SetDeadline(since.Add(crowdedLimit))
	}
}

func (s *strangers) free(conn net.Conn) {
	s.mu.Lock()
	delete(s.since, conn)
	s.mu.Unlock()
	<-s.places
}
