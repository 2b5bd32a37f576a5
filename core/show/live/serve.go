package live

import (
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
)

// unframed keeps other sites from embedding these pages in a frame. Only a header can set this policy, not the page's
// own markup.
const unframed = "frame-ancestors 'none'"

// serve answers one request. It refuses unknown host names and requests by other sites' pages. Unknown tokens get
// status 404.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		http.Error(w, "the run has ended", http.StatusServiceUnavailable)
		return
	}
	defer s.handlers.Done()
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // the address contains the token
	h.Set("Content-Security-Policy", "default-src 'none'; "+unframed)
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	switch {
	case !slices.Contains(s.hosts(), r.Host):
		http.Error(w, "this is no host of the live page", http.StatusForbidden)
	case s.foreign(r):
		http.Error(w, "other sites may not read the live page", http.StatusForbidden)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "the live page is only for reading", http.StatusMethodNotAllowed)
	default:
		s.answer(w, r)
	}
}

// enter registers a handler. It returns false if the server is closing.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.handlers.Add(1)
	return true
}

// hosts returns the host names that browsers on this machine use for the server. Another Host header means DNS
// rebinding: a foreign site has pointed its own name at this machine.
func (s *Server) hosts() []string {
	address := s.listener.Addr().String()
	_, port, _ := strings.Cut(address, ":")
	return []string{address, "localhost:" + port}
}

// foreign reports whether another site's page sent the request.
func (s *Server) foreign(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return true
	}
	origins := r.Header.Values("Origin")
	return slices.ContainsFunc(origins, func(origin string) bool {
		host, ok := strings.CutPrefix(origin, "http://")
		return !ok || !slices.Contains(s.hosts(), host)
	})
}

// answer serves the content for the request's path. Collectors may also fetch metrics at the usual path /metrics,
// with the token in a header.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	token, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if r.URL.Path == "/metrics" {
		token, name = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "metrics"
	}
	known := subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) == 1
	switch {
	case r.URL.Path == "/favicon.ico": // browsers request an icon on their own; there is none
		w.WriteHeader(http.StatusNoContent)
	case known && name == "events":
		s.stream(w, r)
	case known && name == "metrics":
		w.Header().Set("Content-Type", string(textFormat))
		now := s.state()
		_, _ = w.Write(metrics(now.document, now.progress))
	case known && name == "" && strings.HasSuffix(r.URL.Path, "/"):
		text, err := s.page()
		if err != nil {
			http.Error(w, "the page cannot be made", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", s.options.Policy+"; "+unframed)
		_, _ = w.Write(text)
	default:
		http.NotFound(w, r)
	}
}
