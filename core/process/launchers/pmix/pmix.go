// Package pmix gives the tasks of a launcher with PMIx, such as Open MPI's mpirun and srun --mpi=pmix, the key-value
// store of package pmi. PMIx is a C library. A child process loads this library. The task speaks PMI-1 with the child
// process, which translates to PMIx.
package pmix

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Argument as the first argument makes the executable run the child process that translates.
const Argument = "__pmix"

// store is the key-value store of a launcher.
type store interface {
	Put(key, value string) error
	Fence() error
	Get(key string) (string, error)
	Close() error
}

// descriptor is the file descriptor of the connection in the child process.
const descriptor = 3

// endTimeout limits how long the child process may take to end after the task has closed the connection.
const endTimeout = time.Second

// Start starts the child process and returns a connection to it. end waits until the child process has ended; close the
// connection before calling end.
func Start() (conn net.Conn, end func(), err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("a socket for PMIx cannot be made: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs") // #nosec G115 -- descriptors
	defer func() { _, _ = ours.Close(), theirs.Close() }()
	if conn, err = net.FileConn(ours); err != nil {
		return nil, nil, err
	}
	child := &exec.Cmd{Path: "/proc/self/exe", Args: []string{os.Args[0], Argument}, Env: os.Environ(),
		ExtraFiles: []*os.File{theirs}}
	if err := child.Start(); err != nil {
		_ = conn.Close()
		return nil, nil, fmt.Errorf("the process that speaks PMIx cannot be started: %w", err)
	}
	return conn, func() {
		late := time.AfterFunc(2*endTimeout, func() { _ = child.Process.Kill() })
		defer late.Stop()
		_ = child.Wait()
	}, nil
}

// Child is the main function of the child process. Child ends when the connection ends, even if the library hangs.
func Child() int {
	file := os.NewFile(descriptor, "task")
	conn, err := net.FileConn(file)
	if err != nil {
		return 2
	}
	_ = file.Close()
	requests := make(chan string)
	go func() {
		defer close(requests)
		lines := bufio.NewScanner(conn)
		for lines.Scan() {
			requests <- lines.Text()
		}
		time.AfterFunc(endTimeout, func() { os.Exit(1) }) // in case a call to the library hangs
	}()
	serve(conn, requests, open)
	return 0
}

// serve answers requests until the task has ended the protocol.
func serve(w io.Writer, requests <-chan string, open func() (store, error)) {
	var s store
	for request := range requests {
		words := map[string]string{}
		for field := range strings.FieldsSeq(request) {
			key, value, _ := strings.Cut(field, "=")
			words[key] = value
		}
		var err error
		answer := ""
		switch command := words["cmd"]; {
		case command == "init":
			answer = "response_to_init pmi_version=1 pmi_subversion=1"
			s, err = open()
		case s == nil:
			return
		case command == "get_maxes":
			answer = "maxes kvsname_max=256 keylen_max=64 vallen_max=1024"
		case command == "get_my_kvsname":
			answer = "my_kvsname kvsname=pmix"
		case command == "put":
			answer, err = "put_result", s.Put(words["key"], words["value"])
		case command == "barrier_in":
			answer, err = "barrier_out", s.Fence()
		case command == "get":
			var value string
			value, err = s.Get(words["key"])
			answer = "get_result value=" + value
		case command == "finalize":
			answer, err = "finalize_ack", s.Close()
		default:
			return
		}
		code := " rc=0"
		if err != nil {
			name, _, _ := strings.Cut(answer, " ")
			answer, code = name, " rc=-1 msg="+strings.ReplaceAll(err.Error(), " ", "_")
		}
		if _, err := io.WriteString(w, "cmd="+answer+code+"\n"); err != nil {
			return
		}
	}
}
