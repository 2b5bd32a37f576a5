package live

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"
)

// stream sends changes as server-sent events until the server or the reader ends. A "document" event carries a
// view.Document, and a "progress" event carries a view.Live. A slow reader gets only the latest state. The server
// drops a reader that stops reading.
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
	_ = out.control.SetReadDeadline(time.Time{}) // the request is complete
	out.send("retry: 1000\n\n")
	var seen [2]int
	var told time.Time // time of the last progress event
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

// join registers a stream and returns the channel that wakes it, or false if there are too many streams.
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

// events writes one stream. After the first failed or late write it sends nothing more.
type events struct {
	w       http.ResponseWriter
	control *http.ResponseController
	err     error
}

// event sends an event. The data must have no line breaks inside.
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
