package live

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/psbench/psbench/core/show/view"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// begin starts a server for a document and stops it when the test ends.
func begin(t *testing.T, d *view.Document) *Server {
	t.Helper()
	s, err := Start(d, Options{Policy: "default-src 'self'", Page: func(w io.Writer, d *view.Document) error {
		_, err := fmt.Fprintf(w, "<h1>%s</h1>%d done", d.Name, d.Live.Done)
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close("the test is over") })
	return s
}

// request returns a request for a path below the token. A header named Host replaces the request's host.
func request(t *testing.T, s *Server, method, path string, headers ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

// reply is the response to a request. The test closes its body when it ends.
type reply struct {
	StatusCode int
	Status     string
	Header     http.Header
	Body       io.Reader
}

// do sends a request on a new connection and returns the reply.
func do(t *testing.T, r *http.Request) reply {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	got, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = got.Body.Close() })
	return reply{got.StatusCode, got.Status, got.Header, got.Body}
}

func text(t *testing.T, reply reply) string {
	t.Helper()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestWhoMayRead(t *testing.T) {
	s := begin(t, &view.Document{Name: "study"})
	address := strings.TrimPrefix(s.listener.Addr().String(), "127.0.0.1:")
	for _, c := range []struct {
		method, path string
		headers      []string
		want         int
	}{
		{"GET", "", nil, 200},
		{"HEAD", "", nil, 200},
		{"HEAD", "events", nil, 200},
		{"GET", "metrics", nil, 200},
		{"GET", "", []string{"Host", "localhost:" + address}, 200},
		{"GET", "", []string{"Origin", "http://localhost:" + address, "Sec-Fetch-Site", "same-origin"}, 200},
		{"GET", "", []string{"Sec-Fetch-Site", "none"}, 200},
		{"GET", "other", nil, 404},
		{"GET", "events/", nil, 404},
		{"GET", "../", nil, 404},
		{"POST", "", nil, 405},
		{"DELETE", "metrics", nil, 405},
		{"OPTIONS", "events", nil, 405},
		{"GET", "", []string{"Host", "psbench.example"}, 403},
		{"GET", "", []string{"Host", "127.0.0.1"}, 403},
		{"GET", "", []string{"Host", "localhost:1" + address}, 403},
		{"GET", "", []string{"Origin", "https://evil.example"}, 403},
		{"GET", "", []string{"Origin", "null"}, 403},
		{"GET", "", []string{"Origin", "https://localhost:" + address}, 403},
		{"GET", "events", []string{"Origin", "http://localhost:1"}, 403},
		{"GET", "events", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"GET", "metrics", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"POST", "", []string{"Origin", "https://evil.example"}, 403},
	} {
		t.Run(c.method, func(t *testing.T) {
			reply := do(t, request(t, s, c.method, c.path, c.headers...))
			if reply.StatusCode != c.want {
				t.Errorf("%s %q with %q is answered with %s, want %d", c.method, c.path, c.headers, reply.Status,
					c.want)
			}
			for name, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
				"Referrer-Policy": "no-referrer"} {
				if got := reply.Header.Get(name); got != want {
					t.Errorf("%s %q: %s is %q", c.method, c.path, name, got)
				}
			}
			for name := range reply.Header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s %q: other sites are told %s", c.method, c.path, name)
				}
			}
			policy := "default-src 'none'; frame-ancestors 'none'"
			if c.path == "" && c.want == 200 {
				policy = "default-src 'self'; frame-ancestors 'none'"
			}
			if got := reply.Header.Get("Content-Security-Policy"); got != policy {
				t.Errorf("%s %q: the policy is %q", c.method, c.path, got)
			}
			if c.want == 405 && reply.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %q: allowed is %q", c.method, c.path, reply.Header.Get("Allow"))
			}
		})
	}
}

func TestTokens(t *testing.T) {
	s, other := begin(t, &view.Document{}), begin(t, &view.Document{})
	if len(s.token) != 32 || s.token == other.token {
		t.Errorf("the tokens are %q and %q", s.token, other.token)
	}
	root := strings.TrimSuffix(s.URL(), s.token+"/")
	for path, want := range map[string]int{
		"": 404, "favicon.ico": 204, "index.html": 404, "metrics": 404, other.token + "/": 404, s.token[:31] + "/": 404,
		s.token + "0/": 404,
		"/":            404, "/events": 404, s.token: 404, s.token + "/": 200, other.token + "/events": 404,
		strings.ToUpper(s.token) + "x/": 404,
	} {
		t.Run(path, func(t *testing.T) {
			r := request(t, s, "GET", "")
			r.URL.Path = strings.TrimPrefix(root, "http://"+r.URL.Host) + path
			if reply := do(t, r); reply.StatusCode != want {
				t.Errorf("/%s is answered with %s", path, reply.Status)
			}
		})
	}
	for header, want := range map[string]int{
		"Bearer " + s.token: 200, s.token: 200, "Bearer " + other.token: 404, "Bearer ": 404, "Basic " + s.token: 404,
	} {
		t.Run(header, func(t *testing.T) {
			r := request(t, s, "GET", "", "Authorization", header)
			r.URL.Path = "/metrics"
			if reply := do(t, r); reply.StatusCode != want {
				t.Errorf("the authorization %q is answered with %s", header, reply.Status)
			}
		})
	}
}

// Other machines cannot reach the server.
func TestLoopbackOnly(t *testing.T) {
	s := begin(t, &view.Document{})
	if a := s.listener.Addr().(*net.TCPAddr); !a.IP.IsLoopback() || a.Port == 0 {
		t.Errorf("it listens on %s", a)
	}
}

// event is a server-sent event.
type event struct{ name, data string }

// follow opens a stream. The function next returns its events until the stream ends.
func follow(t *testing.T, s *Server) (stream reply, next func() (event, bool)) {
	t.Helper()
	stream = do(t, request(t, s, "GET", "events"))
	lines := bufio.NewScanner(stream.Body)
	lines.Buffer(nil, 64<<20)
	return stream, func() (e event, ok bool) {
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch {
			case name == "event":
				e.name = value
			case name == "data":
				e.data = value
			case lines.Text() == "" && e.name != "":
				return e, true
			}
		}
		return e, false
	}
}

func TestStream(t *testing.T) {
	s := begin(t, &view.Document{Name: "a\nb", Live: &view.Live{Left: 2}})
	s.every = time.Millisecond
	reply, next := follow(t, s)
	if got := reply.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("the stream is %q", got)
	}
	var d view.Document
	if e, ok := next(); !ok || e.name != "document" || json.Unmarshal([]byte(e.data), &d) != nil || d.Name != "a\nb" ||
		d.Live.Left != 2 {
		t.Fatalf("the first event is %+v", e)
	}
	loss := math.NaN()
	s.Tell(view.Live{Done: 1, Left: 1, Running: &view.Running{Name: "cell", Loss: &loss}})
	var l view.Live
	if e, ok := next(); !ok || e.name != "progress" || json.Unmarshal([]byte(e.data), &l) != nil || l.Done != 1 ||
		l.Running.Name != "cell" || l.Running.Loss != nil {
		t.Fatalf("the progress is %+v", e)
	}
	if err := s.Show(&view.Document{Name: "grown"}); err != nil {
		t.Fatal(err)
	}
	if e, ok := next(); !ok || e.name != "document" || !strings.Contains(e.data, "grown") {
		t.Fatalf("the document that has grown is %+v", e)
	}
	page := text(t, do(t, request(t, s, "GET", "")))
	if want := "<h1>grown</h1>1 done"; page != want {
		t.Errorf("the page is %s, want %s", page, want)
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close("all 2 runs are done") }()
	if e, ok := next(); !ok || e.name != "progress" || json.Unmarshal([]byte(e.data), &l) != nil ||
		l.Ended != "all 2 runs are done" || l.Running != nil {
		t.Fatalf("the end is %+v", e)
	}
	if e, ok := next(); ok {
		t.Errorf("after the end there is %+v", e)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if _, err := net.DialTimeout("tcp", s.listener.Addr().String(), time.Second); err == nil {
		t.Error("it listens still")
	}
}

// Many updates within one interval reach readers as one event, the latest. Events are at least one interval apart.
func TestProgressIsThinned(t *testing.T) {
	s := begin(t, &view.Document{})
	s.every = time.Hour
	_, next := follow(t, s)
	_, _ = next()
	s.Tell(view.Live{Done: 1})
	if e, _ := next(); e.name != "progress" {
		t.Fatalf("the first progress is %+v", e)
	}
	for i := range 1000 {
		s.Tell(view.Live{Done: i})
	}
	if err := s.Show(&view.Document{Name: "second"}); err != nil {
		t.Fatal(err)
	}
	if e, _ := next(); e.name != "document" {
		t.Errorf("there is progress within the hour: %+v", e)
	}
	go func() { _ = s.Close("over") }()
	if e, ok := next(); !ok || !strings.Contains(e.data, `"done":999`) || !strings.Contains(e.data, `"ended":"over"`) {
		t.Errorf("the end is %+v", e)
	}
}

func TestHeartbeat(t *testing.T) {
	s := begin(t, &view.Document{})
	s.beat = time.Millisecond
	lines := bufio.NewScanner(do(t, request(t, s, "GET", "events")).Body)
	for lines.Scan() {
		if lines.Text() == ": alive" {
			return
		}
	}
	t.Error("a silent stream does not say that it is alive")
}

// Readers that stop reading block neither the caller of Tell nor Close.
func TestSlowReaders(t *testing.T) {
	big := &view.Document{Name: strings.Repeat("x", 16<<20)} // larger than all buffers
	s := begin(t, big)
	for range mostStreams {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := fmt.Fprintf(conn, "GET /%s/events HTTP/1.1\r\nHost: %s\r\n\r\n", s.token,
			s.listener.Addr()); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); err != nil { // the stream has started
			t.Fatal(err)
		}
	}
	if reply := do(t, request(t, s, "GET", "events")); reply.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("one reader too many is answered with %s", reply.Status)
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		for i := range 10000 {
			s.Tell(view.Live{Done: i})
		}
		_ = s.Close("over")
	}()
	select {
	case <-told:
	case <-time.After(time.Minute):
		t.Fatal("readers who do not read keep the run waiting")
	}
}

// The server limits the size of a request's header and the time to send it.
func TestLargeHeader(t *testing.T) {
	s := begin(t, &view.Document{})
	r := request(t, s, "GET", "", "X-Large", strings.Repeat("x", 64<<10))
	if reply := do(t, r); reply.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of 64 KiB is answered with %s", reply.Status)
	}
	if s.http.ReadHeaderTimeout == 0 || s.http.IdleTimeout == 0 || s.http.WriteTimeout == 0 {
		t.Error("requests may take any time")
	}
}

// A reader that disconnects makes room for another one.
func TestReaderLeaves(t *testing.T) {
	s := begin(t, &view.Document{})
	for range 3 * mostStreams {
		ctx, leave := context.WithCancel(t.Context())
		reply := do(t, request(t, s, "GET", "events").WithContext(ctx))
		if reply.StatusCode != http.StatusOK {
			t.Fatalf("a reader is answered with %s", reply.Status)
		}
		leave()
		for {
			s.mu.Lock()
			left := len(s.streams)
			s.mu.Unlock()
			if left == 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}
