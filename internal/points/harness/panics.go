package harness

import (
	"io"
	"sync"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk"
)

// panics recovers panics in a server's methods. psbench calls these methods on its own goroutines, where a test
// cannot recover, so the kit wraps the server.
type panics struct {
	mu    sync.Mutex
	first error
	// resting is held during a reset, when no other method runs. Without this lock, the race detector would not see
	// the order of events, because the messages that establish it cross a socket.
	resting sync.RWMutex
}

// catch returns the error of f. If f panics, catch records the panic.
func (c *panics) catch(f func() error) error {
	c.resting.RLock()
	defer c.resting.RUnlock()
	panicked := true
	err := Recovered(func() error {
		err := f()
		panicked = false
		return err
	})
	if panicked {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.first == nil {
			c.first = err
		}
	}
	return err
}

// take returns the first panic and forgets it.
func (c *panics) take() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.first
	c.first = nil
	return err
}

// around wraps a server so that catch calls its methods. around returns other parts unchanged.
func (c *panics) around(part sdk.Part) sdk.Part {
	if part.Kind != sdk.KindServer || part.InTrainer() {
		return part
	}
	return part.Around(func(env any, inner func(env any) (any, error)) (any, error) {
		made, err := inner(env)
		if err != nil {
			return nil, err
		}
		switch { // the declaration decides, because a server may have the methods of several kinds
		case part.Serves == sdk.ServiceTables:
			return &caughtTable{made.(sdk.TableServer), c}, nil
		case part.Timing != 0:
			return &caughtElementwise{made.(sdk.ElementwiseServer), c}, nil
		}
		return &caughtServer{made.(sdk.Server), c}, nil
	})
}

type caughtServer struct {
	sdk.Server
	c *panics
}

func (s *caughtServer) Receive(p sdk.Push) error {
	return s.c.catch(func() error { return s.Server.Receive(p) })
}

func (s *caughtServer) Reset() {
	s.c.resting.Lock()
	defer s.c.resting.Unlock()
	s.Server.Reset()
}

// Expect implements sdk.Expecter if the wrapped server does.
func (s *caughtServer) Expect(batches []int) error {
	if e, ok := s.Server.(sdk.Expecter); ok {
		return s.c.catch(func() error { return e.Expect(batches) })
	}
	return nil
}

func (s *caughtServer) Close() error { return s.c.close(s.Server) }

type caughtElementwise struct {
	sdk.ElementwiseServer
	c *panics
}

func (s *caughtElementwise) Combine(sum []float32, others [][]float32) {
	_ = s.c.catch(func() error { s.ElementwiseServer.Combine(sum, others); return nil })
}

func (s *caughtElementwise) Finish(sum []float32) {
	_ = s.c.catch(func() error { s.ElementwiseServer.Finish(sum); return nil })
}

func (s *caughtElementwise) Close() error { return s.c.close(s.ElementwiseServer) }

type caughtTable struct {
	sdk.TableServer
	c *panics
}

func (s *caughtTable) Reset() {
	s.c.resting.Lock()
	defer s.c.resting.Unlock()
	s.TableServer.Reset()
}

func (s *caughtTable) Lookup(call *comm.TableCall) error {
	return s.c.catch(func() error { return s.TableServer.Lookup(call) })
}

func (s *caughtTable) Update(call *comm.TableCall) error {
	return s.c.catch(func() error { return s.TableServer.Update(call) })
}

func (s *caughtTable) Close() error { return s.c.close(s.TableServer) }

// close closes a part if it is an io.Closer.
func (c *panics) close(part any) error {
	if closer, ok := part.(io.Closer); ok {
		return c.catch(closer.Close)
	}
	return nil
}
