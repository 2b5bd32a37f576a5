// Package pmitest is a fake PMI-1 launcher for tests. The fake answers like Slurm and Hydra, or wrongly if a test wants
// this.
package pmitest

import (
	"bufio"
	"fmt"
	"maps"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Server is a fake launcher of a job with Size tasks.
type Server struct {
	Size int
	// Answer, if set, can replace the server's answers. ok is true if it does.
	Answer func(rank int, request string) (answer string, ok bool)

	mu       sync.Mutex
	put      map[string]string // stored since the last barrier
	shown    map[string]string
	waiting  []net.Conn // tasks that wait in the barrier
	finished int
}

// Finished returns how many tasks have ended the protocol.
func (s *Server) Finished() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finished
}

// File returns a connection that a child process can inherit.
func (s *Server) File(t testing.TB, rank int) *os.File {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	own, file := os.NewFile(uintptr(fds[0]), "server"), os.NewFile(uintptr(fds[1]), "task")
	conn, err := net.FileConn(own)
	_ = own.Close()
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() { _, _ = conn.Close(), file.Close(); serving.Wait() })
	serving.Go(func() { s.serve(conn, rank) })
	return file
}

// Dial returns a connection for a task in this process.
func (s *Server) Dial(t testing.TB, rank int) net.Conn {
	t.Helper()
	file := s.File(t, rank)
	defer func() { _ = file.Close() }()
	conn, err := net.FileConn(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (s *Server) serve(conn net.Conn, rank int) {
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		answer, ok := "", false
		if s.Answer != nil {
			answer, ok = s.Answer(rank, lines.Text())
		}
		if !ok {
			answer = s.own(conn, lines.Text())
		}
		if _, err := conn.Write([]byte(answer)); err != nil {
			return
		}
	}
}

// own returns the answer to a request. own returns "" if the answer follows later.
func (s *Server) own(conn net.Conn, request string) string {
	words := map[string]string{}
	for field := range strings.FieldsSeq(request) {
		key, value, _ := strings.Cut(field, "=")
		words[key] = value
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch words["cmd"] {
	case "init":
		return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
	case "get_maxes":
		return "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n"
	case "get_appnum":
		return "cmd=appnum appnum=0\n"
	case "get_my_kvsname":
		return "cmd=my_kvsname kvsname=job\n"
	case "put":
		if s.put == nil {
			s.put, s.shown = map[string]string{}, map[string]string{}
		}
		s.put[words["key"]] = words["value"]
		return "cmd=put_result rc=0 msg=success\n"
	case "get":
		value, found := s.shown[words["key"]]
		if !found {
			return "cmd=get_result rc=-1 msg=key_not_found value=unknown\n"
		}
		return fmt.Sprintf("cmd=get_result rc=0 msg=success value=%s\n", value)
	case "barrier_in":
		return s.barrier(conn)
	case "finalize":
		s.finished++
		return "cmd=finalize_ack\n"
	}
	return ""
}

// barrier delays the answers to all tasks until the last task has reached the barrier.
func (s *Server) barrier(conn net.Conn) string {
	const out = "cmd=barrier_out\n"
	if s.waiting = append(s.waiting, conn); len(s.waiting) < s.Size {
		return ""
	}
	maps.Copy(s.shown, s.put)
	for _, other := range s.waiting {
		if other != conn {
			_, _ = other.Write([]byte(out))
		}
	}
	s.waiting = nil
	return out
}
