package agent

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/psbench/psbench/core/process/launchers/rollcall"
	"github.com/psbench/psbench/internal/identity"
	"github.com/psbench/psbench/internal/quote"
)

// These are the messages of a meeting without PMI. An agent sends its task in one line. The core answers with one of
// these two lines.
const (
	goOn        = "go on"
	giveUp      = "give up"
	longestLine = 4096
	dialAgain   = 100 * time.Millisecond
	verdictWait = 2 * time.Second // allowance for tasks whose timeouts do not end at the same moment
)

// Join lets the tasks of a launcher without PMI-1 find each other, as Meet does with PMI-1. Rank 0 listens at core, a
// HOST:PORT. The other ranks connect over TLS, with a key derived from the secret that the user gave to all tasks. No
// task waits longer than the timeout.
func Join(ctx context.Context, secret []byte, core string, me rollcall.Task, listen netip.Addr,
	timeout time.Duration) (*Meeting, error) {
	id, err := identity.Of(secret, Purpose)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if me.Rank == 0 {
		tasks, err := receive(ctx, id, core, me, listen, timeout)
		if err != nil {
			return nil, err
		}
		return &Meeting{Identity: id, Secret: secret, Tasks: tasks}, nil
	}
	l, err := net.Listen("tcp", netip.AddrPortFrom(listen, 0).String())
	if err != nil {
		return nil, fmt.Errorf("the agent cannot listen on %s: %w", listen, err)
	}
	me.Address = l.Addr().String()
	if err := introduce(ctx, id, core, me, timeout); err != nil {
		_ = l.Close()
		return nil, err
	}
	return &Meeting{Identity: id, Listener: l}, nil
}

// introduce sends an agent's task to the core, and waits for the core's verdict after all agents have connected.
func introduce(ctx context.Context, id *identity.Identity, core string, me rollcall.Task, timeout time.Duration) error {
	text, err := rollcall.Encode(me)
	if err != nil {
		return err
	}
	conn, err := dialAs(ctx, id, core, meetingProtocol)
	for err != nil { // retry, because the core may start to listen later
		select {
		case <-ctx.Done():
			return fmt.Errorf("rank %d on %s has not reached the core at %s within %.0f s: %w", me.Rank,
				quote.Word(me.Host), quote.Word(core), timeout.Seconds(), err)
		case <-time.After(dialAgain):
		}
		var again error
		if conn, again = dialAs(ctx, id, core, meetingProtocol); again == nil || tellsMore(again, err) {
			err = again
		}
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now().Add(verdictWait)) })()
	if _, err = fmt.Fprintln(conn, text); err == nil {
		text, err = bufio.NewReaderSize(conn, longestLine).ReadString('\n')
	}
	switch {
	case err != nil:
		return fmt.Errorf("rank %d on %s has reached the core at %s but got no answer: %w", me.Rank,
			quote.Word(me.Host), quote.Word(core), err)
	case text != goOn+"\n":
		return ErrFailed
	}
	return nil
}

// tellsMore reports whether an attempt's error is more informative than the error of the previous attempt. A timeout is
// not. A refused connection after an accepted one is not either, because the core may have given up.
func tellsMore(again, before error) bool {
	return !isTimeout(again) && (!errors.Is(again, syscall.ECONNREFUSED) || errors.Is(before, syscall.ECONNREFUSED))
}

// isTimeout reports whether an attempt timed out. Either the connection's deadline or the context may report this
// first.
func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// receive waits for the agents of all other ranks, checks that their tasks fit together, and sends each agent the
// verdict.
func receive(ctx context.Context, id *identity.Identity, core string, me rollcall.Task, listen netip.Addr,
	timeout time.Duration) ([]rollcall.Task, error) {
	host, port, err := net.SplitHostPort(core)
	if err != nil {
		return nil, fmt.Errorf("the address of the core is %s but must be HOST:PORT", quote.Word(core))
	}
	if ip, err := netip.ParseAddr(host); err == nil { // a host name may resolve to a loopback address on its own host
		listen = ip
	}
	l, err := net.Listen("tcp", net.JoinHostPort(listen.String(), port))
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("rank 0 on %s is the core but %s is no address of its host: it must run there",
			quote.Word(me.Host), quote.Word(listen.String()))
	case err != nil:
		return nil, fmt.Errorf("rank 0 is the core but cannot listen at %s: %w", quote.Word(core), err)
	}
	m := &meeting{config: id.Server(), come: make(chan guest), over: make(chan struct{})}
	m.config.NextProtos = []string{meetingProtocol}
	m.working.Go(func() {
		accept(l, m.over, func(conn net.Conn, free func()) {
			m.working.Go(func() { m.greet(conn, free) })
		})
	})
	guests, err := m.gather(ctx, me, timeout)
	close(m.over)
	_ = l.Close()
	tasks := []rollcall.Task{me}
	for _, g := range guests {
		tasks = append(tasks, g.task)
	}
	slices.SortFunc(tasks, func(a, b rollcall.Task) int { return a.Rank - b.Rank })
	if err == nil {
		err = apart(tasks)
	}
	verdict := goOn
	if err != nil {
		verdict = giveUp
	}
	for _, g := range guests {
		_ = g.conn.SetDeadline(time.Now().Add(verdictWait))
		_, _ = fmt.Fprintln(g.conn, verdict) // a guest that has disconnected is noticed later, by dialling
		_ = g.conn.Close()
	}
	m.working.Wait()
	return tasks, err
}

// meeting accepts the connections of agents at the core.
type meeting struct {
	config  *tls.Config
	come    chan guest
	over    chan struct{}
	working sync.WaitGroup
	// stranger is the address of a caller that used another secret, or nil if there was none.
	stranger atomic.Pointer[string]
}

// guest is an agent that has proved the secret and waits for the verdict.
type guest struct {
	conn net.Conn
	task rollcall.Task
	err  error // error from reading the guest's message
}

// greet reads the caller's message, and closes the connections of strangers. greet calls free once the caller is
// identified or has disconnected.
func (m *meeting) greet(conn net.Conn, free func()) {
	heard := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-m.over:
			_ = conn.SetDeadline(time.Now())
		case <-heard:
		}
	})
	secure := tls.Server(conn, m.config)
	line, err := bufio.NewReaderSize(secure, longestLine).ReadSlice('\n')
	close(heard)
	watching.Wait()
	free()
	if err != nil {
		if refused := new(net.OpError); errors.As(err, &refused) && refused.Op == "remote error" { // TLS alert
			address := conn.RemoteAddr().String()
			m.stranger.Store(&address)
		}
		_ = conn.Close()
		return
	}
	_ = conn.SetDeadline(time.Time{})
	task, err := rollcall.Decode(strings.TrimSuffix(string(line), "\n"))
	select {
	case m.come <- guest{secure, task, err}:
	case <-m.over:
		_ = conn.Close()
	}
}

// gather waits for one guest of each other rank. After an error, gather still returns the guests that have connected.
func (m *meeting) gather(ctx context.Context, me rollcall.Task, timeout time.Duration) ([]guest, error) {
	var guests []guest
	tasks := []rollcall.Task{me}
	for len(tasks) < me.Size {
		select {
		case <-ctx.Done():
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return guests, context.Cause(ctx)
			}
			err := fmt.Errorf("%w within %.0f s", rollcall.Check(tasks, missing(tasks)), timeout.Seconds())
			if address := m.stranger.Load(); address != nil {
				err = fmt.Errorf("%w; a caller at %s has another secret", err, *address)
			}
			return guests, err
		case g := <-m.come:
			guests = append(guests, g)
			if g.err != nil {
				return guests, fmt.Errorf("the message of the agent at %s cannot be read: %w", g.conn.RemoteAddr(),
					g.err)
			}
			if i := slices.IndexFunc(tasks, func(t rollcall.Task) bool { return t.Rank == g.task.Rank }); i >= 0 {
				return guests, rollcall.Twice(tasks[i], g.task)
			}
			tasks = append(tasks, g.task)
			if err := rollcall.Check(tasks, nil); err != nil {
				return guests, err
			}
		}
	}
	return guests, nil
}

// missing returns the ranks that have not connected.
func missing(tasks []rollcall.Task) []string {
	var ranks []string
	for rank := range tasks[0].Size {
		if !slices.ContainsFunc(tasks, func(t rollcall.Task) bool { return t.Rank == rank }) {
			ranks = append(ranks, strconv.Itoa(rank))
		}
	}
	return ranks
}
