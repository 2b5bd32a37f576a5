//go:build !race

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/core/show/view"
)

// smallest is a model that trains very quickly.
const smallest = "PSBENCH_SET=model.num_embeddings=100,model.embedding_dim=100,model.dense_input_size=100,model.dense_output_size=100"

// started is a psbench process with a live page.
type started struct {
	*exec.Cmd
	url  string
	said *bytes.Buffer // output after the page's address; complete once psbench has ended
	read chan struct{}
}

// startLive starts psbench and waits for the address of its page.
func startLive(t *testing.T, args string) *started {
	t.Helper()
	s := &started{said: new(bytes.Buffer), read: make(chan struct{})}
	s.Cmd = &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{"psbench"}, strings.Fields(args)...),
		Env: append(os.Environ(), smallest, "TMPDIR="+t.TempDir())}
	stderr, err := s.StderrPipe()
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Process.Kill() })
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "live page: ")
	if err != nil || !ok {
		rest, _ := io.ReadAll(lines)
		t.Fatalf("it begins with %q, %v: %s", line, err, rest)
	}
	s.url = url
	go func() {
		defer close(s.read)
		_, _ = io.Copy(s.said, lines)
	}()
	return s
}

// end waits until psbench has ended.
func (s *started) end() error {
	<-s.read
	return s.Wait()
}

// status sends a request and returns the status of the response.
func status(t *testing.T, method, url string, headers ...string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	reply, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	_, _ = io.Copy(io.Discard, reply.Body)
	return reply.StatusCode
}

// seen is everything that a page's reader receives until the stream ends.
type seen struct {
	documents []view.Document
	progress  []view.Live
}

func readLive(t *testing.T, url string) (all seen) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"events", nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	lines, name := bufio.NewScanner(reply.Body), ""
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		var err error
		switch {
		case field == "event":
			name = value
		case field == "data" && name == "document":
			var d view.Document
			err = json.Unmarshal([]byte(value), &d)
			all.documents = append(all.documents, d)
		case field == "data" && name == "progress":
			var l view.Live
			err = json.Unmarshal([]byte(value), &l)
			all.progress = append(all.progress, l)
		}
		if err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
	}
	if len(all.documents) == 0 || len(all.progress) == 0 {
		t.Fatalf("a reader got %d documents and %d times progress", len(all.documents), len(all.progress))
	}
	return all
}

// gone requires that no server listens at the address.
func gone(t *testing.T, url string) {
	t.Helper()
	host, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	if conn, err := net.DialTimeout("tcp", host, time.Second); err == nil {
		_ = conn.Close()
		t.Errorf("%s is still served", host)
	}
}

// The page of a sweep grows with its runs and states how the sweep ended. Only readers on this machine who know the
// address can read it.
func TestLiveSweep(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "study")
	s := startLive(t,
		"sweep --live --ntrainer 2 --nserver 1 --warmup none --repeats 2 --seconds 1.5 --axis server=average,average_batch --no-again --out "+dir)
	for _, c := range []struct {
		method, url string
		headers     []string
		want        int
	}{
		{"GET", s.url, nil, 200},
		{"GET", s.url + "metrics", nil, 200},
		{"GET", strings.Replace(s.url, s.url[len(s.url)-3:], "zz/", 1), nil, 404},
		{"GET", s.url, []string{"Host", "evil.example"}, 403},
		{"GET", s.url, []string{"Origin", "http://evil.example"}, 403},
		{"POST", s.url, nil, 405},
	} {
		t.Run(c.method, func(t *testing.T) {
			if got := status(t, c.method, c.url, c.headers...); got != c.want {
				t.Errorf("%s %s with %q is answered with %d, want %d", c.method, c.url, c.headers, got, c.want)
			}
		})
	}
	all := readLive(t, s.url)
	if err := s.end(); err != nil {
		t.Fatalf("%v: %s", err, s.said)
	}
	runs := -1
	for _, d := range all.documents {
		if len(d.Runs) < runs {
			t.Errorf("a document of %d runs comes after one of %d", len(d.Runs), runs)
		}
		runs = len(d.Runs)
	}
	if runs != 4 || len(all.documents) < 4 {
		t.Errorf("there are %d documents, the last of %d runs", len(all.documents), runs)
	}
	last, measured := all.progress[len(all.progress)-1], 0
	for _, l := range all.progress {
		if r := l.Running; r != nil && r.Phase == "measured pass" && r.Iterations > 0 && r.Rate > 0 && r.Loss != nil {
			measured++
		}
	}
	if last.Done != 4 || last.Left != 0 || last.Ended != "it has ended" || measured == 0 {
		t.Errorf("it was seen measuring %d times, and ended with %+v", measured, last)
	}
	gone(t, s.url)
}

// The page of a run first shows its progress and then its result. Afterwards no temporary file remains.
func TestLiveRun(t *testing.T) {
	t.Parallel()
	s := startLive(t, "run --live --quiet --ntrainer 2 --nserver 1 --warmup none --seconds 2.5")
	all := readLive(t, s.url)
	if err := s.end(); err != nil {
		t.Fatalf("%v: %s", err, s.said)
	}
	if d := all.documents[len(all.documents)-1]; len(all.documents) != 2 || len(d.Runs) != 1 || len(d.Details) != 1 ||
		len(d.Details[0].Lanes) != 2 {
		t.Errorf("of %d documents the last has %d runs and %d details", len(all.documents), len(d.Runs), len(d.Details))
	}
	told := false
	for _, l := range all.progress {
		told = told || l.Running != nil && l.Running.Iterations > 0 && l.SecondsLeft != nil
	}
	if last := all.progress[len(all.progress)-1]; !told || last.Done != 1 || last.Ended != "it has ended" {
		t.Errorf("it told how far it is: %t; and ended with %+v", told, last)
	}
	var temp string
	for _, v := range s.Env {
		if dir, ok := strings.CutPrefix(v, "TMPDIR="); ok {
			temp = dir
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if s.said.Len() > 0 {
		t.Errorf("it said %s", s.said)
	}
	gone(t, s.url)
}

// The page shows if a run fails or is interrupted.
func TestLiveEnds(t *testing.T) {
	t.Parallel()
	s := startLive(t, "--live --data idx --iterations 2")
	all := readLive(t, s.url)
	if err := s.end(); err == nil {
		t.Error("it came to an end")
	}
	if last := all.progress[len(all.progress)-1]; last.Failed != 1 ||
		!strings.HasPrefix(last.Ended, "it ended with an error: data idx: sample 0") {
		t.Errorf("it ended with %+v", last)
	}
	s = startLive(t,
		"sweep --live --ntrainer 1 --nserver 1 --seconds 100 --repeats 1 --axis server=average --no-again --out "+
			filepath.Join(t.TempDir(), "study"))
	time.AfterFunc(2*time.Second, func() { _ = s.Process.Signal(os.Interrupt) })
	all = readLive(t, s.url)
	if err := s.end(); err == nil || s.ProcessState.ExitCode() != exitSignal {
		t.Errorf("it ended with %v: %s", err, s.said)
	}
	if last := all.progress[len(all.progress)-1]; last.Left != 1 || last.Ended != "it was interrupted" {
		t.Errorf("it ended with %+v", last)
	}
	gone(t, s.url)
}
