package shm

import (
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/sys/unix"
)

// MaxFDs is the maximum number of descriptors in one message.
const MaxFDs = 16

// Sender is a Unix socket that can send descriptors, such as *net.UnixConn.
type Sender interface {
	io.Writer
	WriteMsgUnix(b, oob []byte, to *net.UnixAddr) (n, oobn int, err error)
}

// SendFDs sends payload, which has at least one byte, together with up to
// MaxFDs descriptors. The descriptors travel with the first byte. The receiver
// gets duplicates; the caller keeps its own. SendFDs obeys the write deadline
// of c and wraps errors of the connection.
func SendFDs(c Sender, payload []byte, fds ...int) error {
	if len(payload) == 0 || len(fds) > MaxFDs {
		return fmt.Errorf("a message of %d bytes cannot carry %d descriptors: it needs a byte and has room for %d",
			len(payload), len(fds), MaxFDs)
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	sent, _, err := c.WriteMsgUnix(payload, rights, nil)
	if err == nil && sent < len(payload) {
		_, err = c.Write(payload[sent:])
	}
	if err != nil {
		return fmt.Errorf("%d descriptors were not sent: %w", len(fds), err)
	}
	return nil
}

// ReceiveFDs fills payload from a message of SendFDs and returns the want
// descriptors that came with it, with close-on-exec set. The caller owns them.
// ReceiveFDs returns an error if the number of descriptors differs, descriptors
// are lost, or the message ends early; it then closes all received descriptors.
// No code may have read ahead from c. ReceiveFDs obeys the read deadline of c
// and wraps errors of the connection.
func ReceiveFDs(c *net.UnixConn, payload []byte, want int) ([]int, error) {
	if len(payload) == 0 || want < 0 || want > MaxFDs {
		return nil, fmt.Errorf(
			"a message of %d bytes cannot bring %d descriptors: it has a byte at least and 0 to %d descriptors",
			len(payload), want, MaxFDs)
	}
	fds, err := receive(c, payload, want)
	if err == nil && len(fds) != want {
		err = fmt.Errorf("%d descriptors came, not the %d agreed on", len(fds), want)
	}
	if err != nil {
		CloseFDs(fds)
		return nil, err
	}
	return fds, nil
}

// receive fills payload and collects descriptors until it has more than want.
// With an error it also returns the descriptors so far.
func receive(c *net.UnixConn, payload []byte, want int) (fds []int, err error) {
	control := make([]byte, unix.CmsgSpace(4*MaxFDs))
	for got := 0; got < len(payload) && len(fds) <= want; {
		n, controls, flags, _, err := c.ReadMsgUnix(payload[got:], control)
		more, wrong := rights(control[:controls])
		fds = append(fds, more...)
		switch {
		case errors.Is(err, io.EOF):
			return fds, fmt.Errorf("the message ended after %d of %d bytes: %w", got, len(payload), io.ErrUnexpectedEOF)
		case err != nil:
			return fds, fmt.Errorf("the message was not received after %d of %d bytes: %w", got, len(payload), err)
		case wrong != nil:
			return fds, fmt.Errorf("what came with the message cannot be read: %w", wrong)
		case flags&unix.MSG_CTRUNC != 0:
			return fds, fmt.Errorf(
				"descriptors were lost after the first %d: more than %d were sent, or this process cannot open more%s",
				len(fds), MaxFDs, descriptorLimit(unix.EMFILE))
		}
		got += n
	}
	return fds, nil
}

// rights lists the descriptors in a control message. With an error it also
// returns the descriptors so far.
func rights(control []byte) (fds []int, err error) {
	messages, err := unix.ParseSocketControlMessage(control)
	for _, m := range messages {
		if m.Header.Level != unix.SOL_SOCKET || m.Header.Type != unix.SCM_RIGHTS {
			continue
		}
		more, wrong := unix.ParseUnixRights(&m)
		fds, err = append(fds, more...), errors.Join(err, wrong)
	}
	return fds, err
}

// CloseFDs closes descriptors from ReceiveFDs.
func CloseFDs(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}
