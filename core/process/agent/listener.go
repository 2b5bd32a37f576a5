package agent

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/psbench/psbench/internal/identity"
	"github.com/psbench/psbench/internal/strangers"
)

const longestName = 256 // longest name of a process, in bytes

// These limits apply to callers that have not yet proved the secret and stated their purpose. Only a limited number of
// such callers may be connected at once. Each of them gets a limited time, which is shorter while others wait. The
// limits are generous because a busy host has many processes, and the core opens a tunnel to each. If a tunnel were
// cut, gRPC would count the tunnel's process as lost.
const (
	mostStrangers = 64
	strangerLimit = 10 * time.Second
	crowdedLimit  = time.Second
)

// accept hands accepted connections to take until over is closed and then the listener; see [strangers.Accept].
func accept(l net.Listener, over <-chan struct{}, take func(conn net.Conn, known func())) {
	limits := strangers.Limits{Most: mostStrangers, Patience: strangerLimit, Crowded: crowdedLimit}
	strangers.Accept(l, over, limits, take)
}

// listener accepts the connections to an agent. listener hands calls to gRPC and serves tunnels itself. gRPC uses it as
// its net.Listener.
type listener struct {
	net.Listener
	config  *tls.Config
	tunnel  func(name string) (net.Conn, error) // dials the Unix socket of a process
	calls   chan net.Conn
	done    chan struct{}
	working sync.WaitGroup
	closing sync.Once

	mu    sync.Mutex
	conns map[net.Conn]bool // open connections of handshakes and tunnels
}

func newListener(l net.Listener, id *identity.Identity, tunnel func(string) (net.Conn, error)) *listener {
	t := &listener{Listener: l, config: id.Server(), tunnel: tunnel, calls: make(chan net.Conn),
		done: make(chan struct{}), conns: map[net.Conn]bool{}}
	t.config.NextProtos = []string{callsProtocol, linkProtocol, tunnelProtocol}
	t.working.Go(t.take)
	return t
}

// take handles each accepted connection in its own goroutine.
func (t *listener) take() {
	accept(t.Listener, t.done, func(conn net.Conn, free func()) {
		if !t.add(conn) {
			_ = conn.Close()
			return
		}
		t.working.Go(func() { t.greet(conn, free) })
	})
}

func (t *listener) add(conn net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.done:
		return false
	default:
	}
	t.conns[conn] = true
	return true
}

func (t *listener) drop(conn net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.conns, conn)
}

// greet does the TLS handshake and serves the connection by its protocol. greet calls greeted once the caller is
// identified or has disconnected.
func (t *listener) greet(conn net.Conn, greeted func()) {
	defer t.drop(conn)
	secure := tls.Server(conn, t.config)
	if secure.Handshake() != nil {
		greeted()
		_ = conn.Close()
		return
	}
	if secure.ConnectionState().NegotiatedProtocol == tunnelProtocol {
		t.join(secure, greeted)
		return
	}
	greeted()
	_ = conn.SetDeadline(time.Time{})
	if secure.ConnectionState().NegotiatedProtocol == linkProtocol {
		serveLink(secure)
		return
	}
	select {
	case t.calls <- secure:
	case <-t.done:
		_ = conn.Close()
	}
}

// join connects a tunnel to the process that the tunnel's first line names, and copies bytes in both directions.
func (t *listener) join(conn net.Conn, greeted func()) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReaderSize(conn, longestName)
	line, err := in.ReadSlice('\n')
	name := strings.TrimSuffix(string(line), "\n")
	greeted()
	if err != nil {
		return
	}
	_ = conn.SetDeadline(time.Time{})
	process, err := t.tunnel(name)
	if err != nil {
		return
	}
	defer func() { _ = process.Close() }()
	var out sync.WaitGroup
	out.Go(func() {
		_, _ = io.Copy(conn, process)
		_ = conn.Close()
	})
	_, _ = io.Copy(process, in)
	_ = process.Close()
	out.Wait()
}

// Accept implements net.Listener. Accept returns only connections for calls.
func (t *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-t.calls:
		return conn, nil
	case <-t.done:
		return nil, fmt.Errorf("the agent has ended: %w", net.ErrClosed)
	}
}

// Close closes all connections except those for calls, and waits until they have ended.
func (t *listener) Close() error {
	var err error
	t.closing.Do(func() {
		t.mu.Lock()
		close(t.done)
		err = t.Listener.Close()
		for conn := range t.conns {
			_ = conn.Close()
		}
		t.mu.Unlock()
	})
	t.working.Wait()
	return err
}
