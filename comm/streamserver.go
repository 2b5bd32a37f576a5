package comm

import "sync"

// streamServer is a server's side of its links over connections, each of which a
// goroutine of its own reads.
type streamServer struct {
	Links

	mu      sync.Mutex
	closed  bool
	err     error
	serving chan struct{} // closed when serve has returned; nil before it
}

// serve calls read for every trainer at once, until all have returned.
func (s *streamServer) serve(read func(trainer int) error) error {
	s.mu.Lock()
	s.serving = make(chan struct{})
	defer close(s.serving)
	s.mu.Unlock()
	var readers sync.WaitGroup
	for trainer := range s.Conns {
		readers.Go(func() {
			if err := read(trainer); err != nil {
				s.fail(err)
			}
		})
	}
	readers.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// fail keeps the first error and ends all links. What follows Close is no
// failure.
func (s *streamServer) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && !s.closed {
		s.err = err
	}
	_ = s.hangUp()
}

// ended says whether the links have failed or are closed.
func (s *streamServer) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed || s.err != nil
}

func (s *streamServer) hangUp() (err error) {
	for _, c := range s.Conns {
		if e := c.Close(); err == nil {
			err = e
		}
	}
	return err
}

// Close ends all links and waits for Serve.
func (s *streamServer) Close() error {
	s.mu.Lock()
	s.closed = true
	err := s.hangUp()
	serving := s.serving
	s.mu.Unlock()
	if serving != nil {
		<-serving
	}
	return err
}
