package live

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"
)

// stream sends what is new as server-sent events, until the server or the reader ends: document, a
// view.Document, and progress, a view.Live. A reader who is slow misses what is no longer new; one
// who does not read is dropped.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	wake, ok := s.join()
	if !ok {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "the live page has too many readers", http.StatusServiceUnavailable)
		return
	}
	defer s.leave(wake)
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	out := events{w: w, control: http.NewResponseController(w)}
	_ = out.control.SetReadDeadline(time.Time{}) // there is no more to read
	out.send("retry: 1000\n\n")
	var seen [2]int
	var told time.Time // when progress was
	beat := time.NewTicker(s.beat)
	defer beat.Stop()
	later := time.NewTimer(0)
	defer later.Stop()
	for out.err == nil {
		now := s.state()
		if now.versions[0] != seen[0] {
			seen[0] = now.versions[0]
			out.event("document", now.data)
		}
		if now.versions[1] != seen[1] {
			if wait := s.every - time.Since(told); wait > 0 && now.progress.Ended == "" {
				later.Reset(wait)
			} else {
				seen[1], told = now.versions[1], time.Now()
				data, err := json.Marshal(now.progress)
				if err != nil {
					return
				}
				out.event("progress", data)
			}
		}
		if now.progress.Ended != "" {
			return
		}
		select {
		case <-wake:
		case <-later.C:
		case <-beat.C:
			out.send(": alive\n\n")
		case <-r.Context().Done():
			return
		}
	}
}

// join gives a stream what wakes it, unless there are too many.
func (s *Server) join() (wake chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.streams) >= mostStreams {
		return nil, false
	}
	wake = make(chan struct{}, 1)
	s.streams[wake] = true
	return wake, true
}

func (s *Server) leave(wake chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, wake)
}

// events are those of one stream, up to the first that cannot be sent in time.
type events struct {
	w       http.ResponseWriter
	control *http.ResponseController
	err     error
}

// event sends data, which has no line ends.
func (e *events) event(name string, data []byte) {
	e.send("event: " + name + "\ndata: " + string(bytes.TrimSpace(data)) + "\n\n")
}

func (e *events) send(text string) {
	if e.err != nil {
		return
	}
	if e.err = e.control.SetWriteDeadline(time.Now().Add(writeLimit)); e.err != nil {
		return
	}
	if _, e.err = e.w.Write([]byte(text)); e.err == nil {
		e.err = e.control.Flush()
	}
}
