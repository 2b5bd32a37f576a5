package enginetest

import "sync"

// stream copies in the order of the calls, on a goroutine of its own.
type stream struct {
	mu      sync.Mutex
	changed sync.Cond
	pending []pair
	asked   int64 // copies in all
	done    int64
	failed  error
	held    bool
	ended   bool
	running sync.WaitGroup
}

// pair is a copy.
type pair struct{ to, from []byte }

func (s *stream) start() {
	s.changed.L = &s.mu
	s.running.Go(s.run)
}

func (s *stream) run() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for (len(s.pending) == 0 || s.held) && !s.ended {
			s.changed.Wait()
		}
		if len(s.pending) == 0 {
			return
		}
		work := s.pending
		s.pending = nil
		for _, p := range work {
			if s.failed == nil {
				s.mu.Unlock()
				copy(p.to, p.from)
				s.mu.Lock()
			}
			s.done++
			s.changed.Broadcast()
		}
	}
}

func (s *stream) copy(to, from []byte) int64 {
	if len(to) != len(from) {
		panic("a copy has two lengths")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, pair{to, from})
	s.asked++
	s.changed.Broadcast()
	return s.asked
}

func (s *stream) wait(number int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.done < number {
		s.changed.Wait()
	}
	if number == 0 {
		return nil
	}
	return s.failed
}

func (s *stream) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
}

func (s *stream) hold(held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = held
	s.changed.Broadcast()
}

func (s *stream) end() {
	s.mu.Lock()
	s.ended = true
	s.changed.Broadcast()
	s.mu.Unlock()
	s.running.Wait()
}
