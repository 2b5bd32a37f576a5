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

// order asks the supervisor to start a program. The core sends file descriptors with it, in this order: first the
// connection on which the supervisor answers, then the program's standard input, if it has one. The program's standard
// output, its standard error and its descriptors from 3 on follow.
type order struct {
	Path      string
	Args, Env []string
	Memory    int64        // limit in bytes; 0 means no limit
	CPUs      machine.CPUs // empty means the core's CPUs
	Input     bool         // the descriptors include a standard input
}

// birth is the supervisor's first answer to an order: the process ID, or why the program did not start.
type birth struct {
	PID   int
	Error string
}

// end is the supervisor's last answer to an order: how the program ended.
type end struct {
	Status syscall.WaitStatus
	// Killed means that the program was still alive when the supervisor killed it.
	Killed bool
	// Exceeded means that the kernel killed the program, or a child of the program, for exceeding its memory limit.
	// Counted means that a cgroup set the limit, so that Exceeded is certain.
	Exceeded, Counted bool
}

// greeting is the supervisor's first message: the path of its folder, or why there is no folder.
type greeting struct {
	Folder string
	Error  string
}

// headerBytes is the size of an order's header. The header holds the order's size and the number of its descriptors.
const headerBytes = 8

// sendOrder sends an order. sendOrder must not be called concurrently.
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

// receiveOrder waits for the next order. receiveOrder returns io.EOF when the core is gone.
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

// socketPair returns two connected sockets: one for this process, and one as a file to pass to another process.
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

// connOf converts a file that holds a Unix socket to a connection. connOf closes the file.
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
