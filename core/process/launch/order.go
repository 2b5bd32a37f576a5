package launch

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/psbench/psbench/core/host/machine"
	"github.com/psbench/psbench/internal/comm/shm"
)

// order asks the supervisor to start a program. Its descriptors go with it: the line
// on which the supervisor answers, the program's standard input if it has one, standard output and standard error,
// and then those that the program has from 3 on.
type order struct {
	Path      string
	Args, Env []string
	Memory    int64        // that it may use, in bytes; 0: as much as there is
	CPUs      machine.CPUs // that it may run on; none: those of the core
	Input     bool         // it has a standard input
}

// birth is the supervisor's first word on a line: that the program runs, or why not.
type birth struct {
	PID   int
	Error string
}

// end is its last: how the program ended.
type end struct {
	Status syscall.WaitStatus
	// Killed says that the program was alive when it was killed at the core's wish.
	Killed bool
	// Exceeded says that the kernel killed it, or a process that it had started, for want
	// of the memory that it may use. Counted says that a cgroup bounded that, which knows.
	Exceeded, Counted bool
}

// greeting is the supervisor's first word of all: where its folder is, or why not.
type greeting struct {
	Folder string
	Error  string
}

// headerBytes is the size of what precedes an order: its size and how many
// descriptors come with it.
const headerBytes = 8

// sendOrder sends an order. Only one goroutine at a time may do so.
func sendOrder(c *net.UnixConn, o order, files []*os.File, deadline time.Time) error {
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(o); err != nil {
		return err
	}
	header := binary.LittleEndian.AppendUint32(nil, uint32(body.Len()))   // #nosec G115 -- the kernel allows 2 MiB
	header = binary.LittleEndian.AppendUint32(header, uint32(len(files))) // #nosec G115 -- a handful
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd()) // #nosec G115 -- a descriptor
	}
	if err := c.SetWriteDeadline(deadline); err != nil {
		return err
	}
	if _, err := c.Write(header); err != nil {
		return err
	}
	return shm.SendFDs(c, body.Bytes(), fds...)
}

// receiveOrder waits for the next order; its error is io.EOF when the core is gone.
func receiveOrder(c *net.UnixConn) (o order, files []*os.File, err error) {
	header := make([]byte, headerBytes)
	if _, err := io.ReadFull(c, header); err != nil {
		return o, nil, err
	}
	body := make([]byte, binary.LittleEndian.Uint32(header))
	fds, err := shm.ReceiveFDs(c, body, int(binary.LittleEndian.Uint32(header[4:])))
	if err != nil {
		return o, nil, err
	}
	for _, fd := range fds {
		files = append(files, os.NewFile(uintptr(fd), "passed")) // #nosec G115 -- a descriptor
	}
	return o, files, gob.NewDecoder(bytes.NewReader(body)).Decode(&o)
}

// socketPair is a connection: this process's end, and the other as it is passed on.
func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("a socket to the supervisor cannot be made: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs") // #nosec G115 -- descriptors
	conn, err := connOf(ours)
	if err != nil {
		_ = theirs.Close()
		return nil, nil, err
	}
	return conn, theirs, nil
}

// connOf makes a Unix socket of a descriptor, which it takes over.
func connOf(f *os.File) (*net.UnixConn, error) {
	defer func() { _ = f.Close() }()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.New("it is no Unix socket"), c.Close())
	}
	return conn, nil
}
