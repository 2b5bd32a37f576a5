// Package live serves the page of current runs to browsers of this machine only. The caller supplies
// the content; a slow reader never blocks the caller.
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

// Options are what a Server serves, and how.
type Options struct {
	// Page writes the page of a document.
	Page func(w io.Writer, d *view.Document) error
	// Policy is the content security policy of that page.
	Policy string
}

// What readers may take. One page has one stream.
const (
	mostConnections = 32
	mostStreams     = 8
	mostHeader      = 8 << 10 // bytes
	headerLimit     = 5 * time.Second
	writeLimit      = 5 * time.Second // for one event or page, after which a reader is dropped
	idleLimit       = 30 * time.Second
	goodbye         = 2 * time.Second // for readers to receive the end
)

// Server serves one page until it is closed.
type Server struct {
	options  Options
	token    string // in the path, so the page cannot be guessed
	listener net.Listener
	http     http.Server
	ended    chan struct{} // closed once no reader is served
	every    time.Duration // at most how often a reader is told of progress
	beat     time.Duration // how often a silent stream says that it is alive

	mu       sync.Mutex
	handlers sync.WaitGroup
	closed   bool // no handler may begin
	document *view.Document
	data     []byte // the document as JSON
	versions [2]int // of document and progress
	progress view.Live
	streams  map[chan struct{}]bool // each wakes one
}

// Start serves the document at a random port of 127.0.0.1, below a random token.
func Start(d *view.Document, o Options) (*Server, error) {
	s := &Server{options: o, ended: make(chan struct{}), every: time.Second, beat: 15 * time.Second,
		streams: map[chan struct{}]bool{}}
	token := make([]byte, 16)
	_, _ = rand.Read(token) // which does not fail
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
		ErrorLog: log.New(io.Discard, "", 0), // what readers do wrong is not the user's business
	}
	go func() {
		defer close(s.ended)
		_ = s.http.Serve(netutil.LimitListener(listener, mostConnections)) // ends by Close alone
	}()
	return s, nil
}

// URL returns the address of the page.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" + s.token + "/" }

// Show replaces the document. The server owns d from here on.
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

// wake notifies every stream of news.
func (s *Server) wake() {
	for stream := range s.streams {
		select {
		case stream <- struct{}{}:
		default: // already notified
		}
	}
}

// Close sends readers one sentence on the end of the runs, and stops the server.
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
		err = s.http.Close() // from slow readers
	}
	<-s.ended
	s.handlers.Wait()
	return err
}

// state is what the page shows at a moment.
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
