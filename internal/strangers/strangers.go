// Package strangers limits the resources that callers can take from a listener before they have authenticated. Any
// user of the host, or anyone on the network, may connect to a socket.
package strangers

import (
	"net"
	"sync"
	"time"
)

// Limits restrict the callers of a listener that have not authenticated yet. Callers beyond Most wait in the
// kernel's queue, which costs this process nothing.
type Limits struct {
	Most     int           // unauthenticated callers at once
	Patience time.Duration // time for a caller to authenticate
	Crowded  time.Duration // time limit while other callers wait
}

// Accept accepts connections until over is closed, and with it the listener. Each connection gets a place, as soon
// as one is free, and a deadline. Then Accept calls take, which must not block and owns the connection. take calls
// known once the caller has authenticated or been disconnected. This call frees the place, and from then on take is
// responsible for the deadline. Further calls of known have no effect.
func Accept(l net.Listener, over <-chan struct{}, limits Limits, take func(conn net.Conn, known func())) {
	r := room{Limits: limits, places: make(chan struct{}, limits.Most), since: map[net.Conn]time.Time{}}
	for {
		conn, err := l.Accept()
		if err != nil {
			select {
			case <-over:
				return
			case <-time.After(10 * time.Millisecond): // probably no free file descriptors
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

// room holds the connections that are not authenticated yet.
type room struct {
	Limits
	places chan struct{}
	mu     sync.Mutex
	since  map[net.Conn]time.Time
}

// admit gives a connection a place as soon as one is free. admit returns false if the listener is closed first.
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
		_ = conn.Close() // makes reads and writes of take fail at once
	}
	return true
}

// hurry shortens the deadline of all connections that have a place.
func (r *room) hurry() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for conn, since := range r.since {
		_ = conn.SetDeadline(since.Add(r.Crowded)) // fails only once closed
	}
}

// leave frees the place of a connection, if the connection still has one.
func (r *room) leave(conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, has := r.since[conn]; has {
		delete(r.since, conn)
		<-r.places
	}
}
