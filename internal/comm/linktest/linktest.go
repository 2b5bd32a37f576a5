// Package linktest connects ranks for tests of links.
package linktest

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/comm/wire/grpc"
	"github.com/psbench/psbench/internal/identity"
)

// Patience is a timeout that no passing test reaches, even under the race
// detector on a two-core machine that tests all packages at once. Only a
// failing test waits for it.
const Patience = time.Minute

// TestSecret is the secret of the test's run.
var TestSecret = []byte("0123456789abcdef0123456789abcdef")

// ShortDir is a folder with a short path, so that its sockets stay within the
// kernel's path limit.
func ShortDir(t commtest.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ps")
	commtest.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TLS and GRPCOverTLS are TCP and gRPC on an address of this host that other
// hosts can reach, with all bytes inside TLS. Networks lists all networks that
// carry frames.
var (
	TLS         = again(wire.TCP)
	GRPCOverTLS = again(grpc.Network)
	Networks    = []*wire.Network{wire.Unix, wire.TCP, grpc.Network, TLS, GRPCOverTLS}
)

// again returns a copy of n that tests can distinguish from n.
func again(n *wire.Network) *wire.Network {
	other := *n
	return &other
}

// Secured reports whether tests run n on an address where all bytes are inside
// TLS.
func Secured(n *wire.Network) bool { return n == TLS || n == GRPCOverTLS }

// OverNetworks runs test once per network.
func OverNetworks(t *testing.T, test func(t *testing.T, n *wire.Network)) {
	for _, n := range Networks {
		name := n.Name()
		if Secured(n) {
			name += " in TLS"
		}
		t.Run(name, func(t *testing.T) {
			if Secured(n) {
				HostIP(t)
			}
			test(t, n)
		})
	}
}

// HostIP is an address of this host that other hosts can reach. HostIP skips
// the test if there is none.
func HostIP(t testing.TB) string {
	t.Helper()
	ip, err := hostIP()
	if err != nil {
		t.Skip(err)
	}
	return ip
}

func hostIP() (string, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() {
			return ip.IP.String(), nil
		}
	}
	return "", errors.New("this host has no address that others reach")
}

// Listen opens a rank's listener, which is closed when the test ends.
func Listen(t commtest.TB, n *wire.Network, name string) *wire.Listener {
	t.Helper()
	at, err := "127.0.0.1", error(nil)
	switch {
	case n == wire.Unix:
		at = filepath.Join(ShortDir(t), name)
	case Secured(n):
		at, err = hostIP()
		commtest.Must(t, err)
	}
	l, err := n.Listen(at, name, TestSecret)
	commtest.Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// Link connects the ranks named from and to.
func Link(t commtest.TB, n *wire.Network, from, to string) (atFrom, atTo *wire.Conn) {
	t.Helper()
	l := Listen(t, n, to)
	atFrom, err := n.Dial(l.Address(),
		wire.Call{From: from, To: to, Purpose: "test", Secret: TestSecret, Timeout: Patience})
	commtest.Must(t, err)
	t.Cleanup(func() { _ = atFrom.Close() })
	atTo, err = l.Accept("test", from, Patience)
	commtest.Must(t, err)
	t.Cleanup(func() { _ = atTo.Close() })
	return atFrom, atTo
}

// Name is the name of a trainer.
func Name(rank int) string { return fmt.Sprintf("trainer%d", rank) }

// Same gives every member the same specs.
func Same(specs ...tensor.BucketSpec) func(int) []tensor.BucketSpec {
	return func(int) []tensor.BucketSpec { return specs }
}

// Footprint counts a process's resources: descriptors, mappings of segments,
// and goroutines.
type Footprint struct{ Descriptors, Mappings, Goroutines int }

// FootprintNow counts the resources of this process.
func FootprintNow(t commtest.TB) Footprint {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	commtest.Must(t, err)
	maps, err := os.ReadFile("/proc/self/maps")
	commtest.Must(t, err)
	return Footprint{len(open), bytes.Count(maps, []byte("/memfd:")), runtime.NumGoroutine()}
}

// RequireNothingLeft requires that a hundred calls of use leak nothing. Each
// call has its own clean-up. The resources of one call are far fewer than a
// hundred leaks.
func RequireNothingLeft(t *testing.T, use func(t *testing.T)) {
	t.Helper()
	once := func() { t.Run("", use) }
	once()
	before := FootprintNow(t)
	for range 100 {
		once()
	}
	after := FootprintNow(t)
	const slack = 10 // goroutines of the runtime and of the test itself
	if after.Descriptors > before.Descriptors+slack || after.Mappings > before.Mappings ||
		after.Goroutines > before.Goroutines+slack {
		t.Errorf("100 uses more took %+v, before them it was %+v", after, before)
	}
}

// DialBare connects to a listener without a hello, inside TLS if the listener's
// address requires it.
func DialBare(l *wire.Listener) (net.Conn, error) {
	nc, err := DialSocket(l)
	if err != nil || nc.RemoteAddr().Network() == "unix" || nc.RemoteAddr().(*net.TCPAddr).IP.IsLoopback() {
		return nc, err
	}
	known, err := identity.Of(TestSecret, "links")
	if err != nil {
		return nil, err
	}
	secured := tls.Client(nc, known.Client())
	return secured, secured.Handshake()
}

// DialSocket connects to a listener and sends nothing.
func DialSocket(l *wire.Listener) (net.Conn, error) {
	network, place, _ := strings.Cut(l.Address(), ":")
	if network != wire.Unix.Name() {
		network = "tcp"
	}
	return net.Dial(network, place)
}
