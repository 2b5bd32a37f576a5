// Package live serves the page of current runs to browsers of this machine only. The caller supplies the content; a
// slow reader never blocks the caller.
package live

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/psbench/psbench/core/show/view"
)

// Options configure a Server.
type Options struct {
	// Page writes a document as a page.
	Page func(w io.Writer, d *view.Document) error
	// Policy is the page's content security policy.
	Policy string
}

// The following constants limit readers. Each open page uses one stream.
const (
	mostConnections = 32
	mostStreams     = 8
	mostHeader      = 8 << 10 // bytes
	headerLimit     = 5 * time.Second
	writeLimit      = 5 * time.Second // for one event or page; then the server drops the reader
	idleLimit       = 30 * time.Second
	goodbye         = 2 * time.Second // for readers to receive the last event
)

// Server serves one page until it is closed.
type Server struct {
	options  Options
	token    string // in the path, so the page cannot be guessed
	listener net.Listener
	http     http.Server
	ended    chan struct{} // closed once the server accepts no more connections
	every    time.Duration // minimum interval between progress events to a reader
	beat     time.Duration // interval of keep-alive lines on a silent stream

	mu       sync.Mutex
	handlers sync.WaitGroup
	closed   bool // no new handler may start
	document *view.Document
	data     []byte // the document as JSON
	versions [2]int // of the document and of the progress
	progress view.Live
	streams  map[chan struct{}]bool // a send on a channel wakes its stream
}

// Start serves the document at a random port of 127.0.0.1. A random token is part of the address.
func Start(d *view.Document, o Options) (*Server, error) {
	s := &Server{options: o, ended: make(chan struct{}), every: time.Second, beat: 15 * time.Second,
		streams: map[chan struct{}]bool{}}
	token := make([]byte, 16)
	_, _ = rand.Read(token) // never fails
	s.token = hex.EncodeToString(token)
	if err := s.Show(d); err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the live page cannot be served: %w", err)
	}
	s.listener = listener
	s.http = http.Server{
		Handler: http.HandlerFunc(s.serve), MaxHeaderBytes: mostHeader, ReadHeaderTimeout: headerLimit,
		ReadTimeout:  headerLimit,
		WriteTimeout: writeLimit, IdleTimeout: idleLimit,
		ErrorLog: log.New(io.Discard, "", 0), // hides errors of readers from the user
	}
	go func() {
		defer close(s.ended)
		_ = s.http.Serve(netutil.LimitListener(listener, mostConnections)) // returns only after Close or Shutdown
	}()
	return s, nil
}

// URL returns the address of the page.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" + s.token + "/" }

// Show replaces the document. The server owns d from then on.
func (s *Server) Show(d *view.Document) error {
	data, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("the live page cannot be made: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.document, s.data = d, data
	if d.Live != nil {
		s.progress = *d.Live
	}
	s.versions[0]++
	s.wake()
	return nil
}

// Tell publishes the progress of the runs.
func (s *Server) Tell(l view.Live) {
	l = l.Tidy()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress = l
	s.versions[1]++
	s.wake()
}

// wake notifies every stream of a change.
func (s *Server) wake() {
	for stream := range s.streams {
		select {
		case stream <- struct{}{}:
		default: // already notified
		}
	}
}

// Close sends readers the sentence how, which states how the runs ended. Then it stops the server.
func (s *Server) Close(how string) error {
	s.mu.Lock()
	s.progress.Ended, s.progress.Running = how, nil
	s.progress = s.progress.Tidy()
	s.versions[1]++
	s.closed = true
	s.wake()
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close() // disconnects slow readers
	}
	<-s.ended
	s.handlers.Wait()
	return err
}

// state is the content of the page at one moment.
type state struct {
	document *view.Document
	data     []byte
	progress view.Live
	versions [2]int
}

func (s *Server) state() state {
	s.mu.Lock()
	defer s.mu.Unlock()
	return state{s.document, s.data, s.progress, s.versions}
}

// page returns the whole current page.
func (s *Server) page() ([]byte, error) {
	now := s.state()
	d := *now.document
	d.Live = &now.progress
	var out bytes.Buffer
	err := s.options.Page(&out, &d)
	return out.Bytes(), err
}
