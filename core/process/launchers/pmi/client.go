// Package pmi speaks PMI-1 with the launcher of a parallel job. PMI-1 is the interface between process managers and MPI
// libraries; it sends lines of text over an inherited connection. PMI-1 gives the tasks of a job a key-value store and
// a barrier. After the barrier, all tasks see what each task has stored.
//
// srun --mpi=pmi2 and MPICH's mpiexec speak PMI-1. With both, stored values become visible only after the barrier.
package pmi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/psbench/psbench/internal/quote"
)

// Client is the connection of one task. The methods of Client must not be called concurrently.
type Client struct {
	conn    net.Conn
	in      *bufio.Reader
	timeout time.Duration
	store   string // name of the key-value store
	limits  Limits
	broken  error // first failure; afterwards, answers may not match requests
}

// Limits holds the launcher's limits in bytes. The limits include the terminating zero of a C string.
type Limits struct{ Name, Key, Value int }

// ErrNoKey means that no task has stored a value for the key.
var ErrNoKey = errors.New("there is no such key")

// Inherited returns the connection that this process has inherited. value is the value of variable, a file descriptor.
func Inherited(variable, value string) (net.Conn, error) {
	fd, err := strconv.ParseUint(value, 10, 20)
	if err != nil || fd <= 2 {
		return nil, fmt.Errorf("%s is %s but must be the number of a descriptor above 2", variable, quote.String(value))
	}
	// The variable may be left over and name a descriptor of something else, which must stay open.
	var is unix.Stat_t
	if err := unix.Fstat(int(fd), &is); err != nil { // #nosec G115 -- at most 20 bits
		return nil, fmt.Errorf("%s is %s, but that is no connection to a launcher: %w", variable, value, err)
	}
	if is.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, fmt.Errorf("%s is %s, but that is no socket and so no connection to a launcher", variable, value)
	}
	file := os.NewFile(uintptr(fd), variable)
	defer func() { _ = file.Close() }()
	conn, err := net.FileConn(file) // a duplicate that child processes do not inherit
	if err != nil {
		return nil, fmt.Errorf("%s is %s, but that is no connection to a launcher: %w", variable, value, cause(err))
	}
	return conn, nil
}

// cause strips the name of the system call from an error.
func cause(err error) error {
	if call := (*os.SyscallError)(nil); errors.As(err, &call) {
		return call.Err
	}
	return err
}

// Open starts the protocol. timeout limits how long each answer may take, except the answer to a barrier, which waits
// for other tasks.
func Open(ctx context.Context, conn net.Conn, timeout time.Duration) (*Client, error) {
	c := &Client{conn: conn, in: bufio.NewReaderSize(conn, longest), timeout: timeout}
	if err := c.begin(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return c, nil
}

func (c *Client) begin(ctx context.Context) error {
	answer, err := c.ask(ctx, message{"init", []word{{"pmi_version", "1"}, {"pmi_subversion", "1"}}},
		"response_to_init")
	if err != nil {
		return err
	}
	if version, _ := answer.value("pmi_version"); version != "1" {
		return c.fail("init", fmt.Errorf("the launcher speaks version %s, psbench version 1", quote.String(version)))
	}
	answer, err = c.ask(ctx, message{command: "get_maxes"}, "maxes")
	if err != nil {
		return err
	}
	for key, limit := range map[string]*int{"kvsname_max": &c.limits.Name, "keylen_max": &c.limits.Key,
		"vallen_max": &c.limits.Value} {
		if *limit, err = answer.number(key); err == nil && *limit < 1 {
			err = fmt.Errorf("%s is %d but must be 1 or more", key, *limit)
		}
		if err != nil {
			return c.fail("get_maxes", err)
		}
	}
	answer, err = c.ask(ctx, message{command: "get_my_kvsname"}, "my_kvsname")
	if err != nil {
		return err
	}
	if c.store, _ = answer.value("kvsname"); c.store == "" {
		return c.fail("get_my_kvsname", errors.New("the answer has no kvsname"))
	}
	return nil
}

// Limits returns the launcher's limits.
func (c *Client) Limits() Limits { return c.limits }

// Store returns the name of the job's key-value store.
func (c *Client) Store() string { return c.store }

// AppNum returns the index of this task's program on the launcher's command line, or -1 if the launcher has none.
func (c *Client) AppNum(ctx context.Context) (int, error) {
	answer, err := c.ask(ctx, message{command: "get_appnum"}, "appnum")
	if err != nil {
		return 0, err
	}
	n, err := answer.number("appnum")
	if err != nil {
		return 0, c.fail("get_appnum", err)
	}
	return n, nil
}

// Put stores a value. All tasks see the value after the next barrier.
func (c *Client) Put(ctx context.Context, key, value string) error {
	switch {
	case key == "" || !isWord(key) || len(key) >= c.limits.Key:
		return fmt.Errorf("PMI put: the key %s must be printable ASCII without spaces, of 1 to %d bytes",
			quote.String(key), c.limits.Key-1)
	case value == "" || !isWord(value) || len(value) >= c.limits.Value:
		return fmt.Errorf("PMI put: the value %s must be printable ASCII without spaces, of 1 to %d bytes",
			quote.String(value), c.limits.Value-1)
	}
	_, err := c.ask(ctx, message{"put", []word{{"kvsname", c.store}, {"key", key}, {"value", value}}}, "put_result")
	return err
}

// Get returns the value of a key, or ErrNoKey.
func (c *Client) Get(ctx context.Context, key string) (string, error) {
	answer, err := c.ask(ctx, message{"get", []word{{"kvsname", c.store}, {"key", key}}}, "get_result")
	if refused := (*RefusedError)(nil); errors.As(err, &refused) {
		return "", fmt.Errorf("%w (%w)", ErrNoKey, err)
	}
	if err != nil {
		return "", err
	}
	value, found := answer.value("value")
	if !found {
		return "", c.fail("get", errors.New("the answer has no value"))
	}
	return value, nil
}

// Barrier waits until all tasks have called Barrier.
func (c *Client) Barrier(ctx context.Context) error {
	_, err := c.ask(ctx, message{command: "barrier_in"}, "barrier_out")
	return err
}

// Close ends the protocol in order, if possible, and closes the connection. If a task ends without Close, launchers
// treat the task as failed.
func (c *Client) Close(ctx context.Context) error {
	var err error
	if c.broken == nil {
		_, err = c.ask(ctx, message{command: "finalize"}, "finalize_ack")
	}
	if closed := c.conn.Close(); err == nil {
		err = closed
	}
	return err
}

// RefusedError means that the launcher understood a request and refused it.
type RefusedError struct{ Command, Code, Reason string }

func (e *RefusedError) Error() string {
	text := fmt.Sprintf("PMI %s: the launcher refuses it with rc=%s", e.Command, quote.Word(e.Code))
	if e.Reason != "" {
		text += ", " + quote.Word(e.Reason)
	}
	return text
}

// ask sends a request and waits for the answer.
func (c *Client) ask(ctx context.Context, request message, want string) (message, error) {
	if c.broken != nil {
		return message{}, c.broken
	}
	if err := c.conn.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return message{}, c.fail(request.command, cause(err))
	}
	defer context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })()
	answer, err := c.exchange(request)
	switch {
	case ctx.Err() != nil:
		return answer, c.fail(request.command, ctx.Err())
	case err != nil:
		return answer, c.fail(request.command, err)
	case answer.command != want:
		return answer, c.fail(request.command,
			fmt.Errorf("cmd=%s came, but the answer to it is cmd=%s", quote.Text(answer.command), want))
	}
	// Hydra sends rc=0 only in those answers that can have another rc.
	if code, given := answer.value("rc"); given && code != "0" {
		reason, _ := answer.value("msg")
		return answer, &RefusedError{request.command, code, reason}
	}
	return answer, nil
}

func (c *Client) exchange(request message) (message, error) {
	if _, err := io.WriteString(c.conn, request.format()); err != nil {
		return message{}, c.explain(err)
	}
	line, err := c.in.ReadSlice('\n')
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		return message{}, c.explain(err)
	}
	answer, err := parse(string(line))
	if err == nil && c.in.Buffered() > 0 {
		err = fmt.Errorf("more than the answer came, %d bytes", c.in.Buffered())
	}
	return answer, err
}

// explain returns an error that says why no answer was received.
func (c *Client) explain(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("no answer within %s: %w", c.timeout, err)
	case errors.Is(err, io.EOF):
		return errors.New("the launcher has closed the connection")
	}
	return cause(err)
}

// fail records err and makes all later requests fail, because later answers may belong to other requests.
func (c *Client) fail(command string, err error) error {
	c.broken = fmt.Errorf("PMI %s: %w", command, err)
	return c.broken
}

// number returns the numeric value of a word, which may be -1. number returns an error if the word is missing.
func (m message) number(key string) (int, error) {
	value, found := m.value(key)
	if !found {
		return 0, fmt.Errorf("the answer has no %s", key)
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < -1 {
		return 0, fmt.Errorf("%s is %s but must be a whole number", key, quote.String(value))
	}
	return int(n), nil
}
