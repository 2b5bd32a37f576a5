// Package strangers limits the resources that callers can take from a listener before they have
// authenticated. Any user of the host, or anyone on the network, may reach a socket.
package strangers

import (
	"net"
	"sync"
	"time"
)

// Limits bound the callers of one listener that may be strangers. Callers beyond Most wait in the kernel's queue,
// which costs this process nothing.
type Limits struct {
	Most     int           // how many have a place at once
	Patience time.Duration // how long each may take to prove who it is
	Crowded  time.Duration // the same, as long as others wait for a place
}

// Accept takes connections until over is closed, and with it the listener. Each gets a place, as soon as there is
// one, and a deadline, and goes to take, which must not wait. take owns the connection. It calls known once the
// caller has proved who it is, or is hung up on: that frees the place, and Accept leaves the deadline to take.
// Further calls of known do nothing.
func Accept(l net.Listener, over <-chan struct{}, limits Limits, take func(conn net.Conn, known func())) {
	r := room{Limits: limits, places: make(chan struct{}, limits.Most), since: map[net.Conn]time.Time{}}
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
		if !r.admit(conn, over) {
			_ = conn.Close()
			return
		}
		take(conn, func() { r.leave(conn) })
	}
}

// room has the connections that may be of strangers.
type room struct {
	Limits
	places chan struct{}
	mu     sync.Mutex
	since  map[net.Conn]time.Time
}

// admit gives a connection a place, as soon as there is one. It is false if the listener is closed meanwhile.
func (r *room) admit(conn net.Conn, over <-chan struct{}) bool {
	select {
	case r.places <- struct{}{}:
	default:
		r.hurry()
		select {
		case r.places <- struct{}{}:
		case <-over:
			return false
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since[conn] = time.Now()
	if conn.SetDeadline(r.since[conn].Add(r.Patience)) != nil {
		_ = conn.Close() // reads and writes of take fail at once
	}
	return true
}

// hurry shortens the time of all that have a place.
func (r *room) hurry() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for conn, since := range r.since {
		_ = conn.SetDeadline(since.Add(r.Crowded)) // fails only once closed
	}
}

// leave frees the place of a connection, if it still has one.
func (r *room) leave(conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, has := r.since[conn]; has {
		delete(r.since, conn)
		<-r.places
	}
}
