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

// order asks the supervisor to start a program. It comes with descriptors: the line on which the supervisor
// answers, the program's standard input if it has one, its standard output and error, and the program's descriptors
// from 3 on.
type order struct {
	Path      string
	Args, Env []string
	Memory    int64        // limit in bytes; 0: none
	CPUs      machine.CPUs // empty: those of the core
	Input     bool         // it has a standard input
}

// birth is the supervisor's first answer on a line: the program runs, or why not.
type birth struct {
	PID   int
	Error string
}

// end is its last answer: how the program ended.
type end struct {
	Status syscall.WaitStatus
	// Killed means that the program was alive when the core had it killed.
	Killed bool
	// Exceeded means that the kernel killed the program, or a child of it, for exceeding its memory limit. Counted
	// means that a cgroup set the limit, so Exceeded is certain.
	Exceeded, Counted bool
}

// greeting is the supervisor's first message: its folder, or why there is none.
type greeting struct {
	Folder string
	Error  string
}

// headerBytes is the size of the header of an order: the order's size and the number of its descriptors.
const headerBytes = 8

// sendOrder sends an order. Calls must not overlap.
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

// receiveOrder waits for the next order; it returns io.EOF when the core is gone.
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

// socketPair returns a connection: this process's end, and the other end as a file to pass on.
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

// connOf turns a descriptor into a Unix socket and takes it over.
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
