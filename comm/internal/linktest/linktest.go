// Package linktest joins ranks for the tests of links.
package linktest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/psbench/psbench/comm/internal/commtest"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/comm/wire"
	"github.com/psbench/psbench/comm/wire/grpc"
)

// Patience is longer than anything takes, also under the race detector on a machine of two cores
// that runs the tests of all packages at once. Only what fails waits for it.
const Patience = time.Minute

// TestSecret is that of the run.
var TestSecret = []byte("0123456789abcdef0123456789abcdef")

// ShortDir is a folder whose sockets stay within the kernel's path limit.
func ShortDir(t commtest.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ps")
	commtest.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Networks are what carries frames.
var Networks = []*wire.Network{wire.Unix, wire.TCP, grpc.Network}

// OverNetworks runs test once per network.
func OverNetworks(t *testing.T, test func(t *testing.T, n *wire.Network)) {
	for _, n := range Networks {
		t.Run(n.Name(), func(t *testing.T) { test(t, n) })
	}
}

// Listen makes the listener of a rank, until the test ends.
func Listen(t commtest.TB, n *wire.Network, name string) *wire.Listener {
	t.Helper()
	at := "127.0.0.1"
	if n == wire.Unix {
		at = filepath.Join(ShortDir(t), name)
	}
	l, err := n.Listen(at, name, TestSecret)
	commtest.Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// Link joins the ranks named from and to.
func Link(t commtest.TB, n *wire.Network, from, to string) (atFrom, atTo *wire.Conn) {
	t.Helper()
	l := Listen(t, n, to)
	atFrom, err := n.Dial(l.Address(), wire.Call{From: from, To: to, Purpose: "test", Secret: TestSecret, Timeout: Patience})
	commtest.Must(t, err)
	t.Cleanup(func() { _ = atFrom.Close() })
	atTo, err = l.Accept("test", from, Patience)
	commtest.Must(t, err)
	t.Cleanup(func() { _ = atTo.Close() })
	return atFrom, atTo
}

// Name is that of a trainer.
func Name(rank int) string { return fmt.Sprintf("trainer%d", rank) }

// Same gives every member the same specs.
func Same(specs ...tensor.BucketSpec) func(int) []tensor.BucketSpec {
	return func(int) []tensor.BucketSpec { return specs }
}

// Footprint is what a process holds: descriptors, mappings of segments, and
// goroutines.
type Footprint struct{ Descriptors, Mappings, Goroutines int }

// FootprintNow counts what the process holds.
func FootprintNow(t commtest.TB) Footprint {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	commtest.Must(t, err)
	maps, err := os.ReadFile("/proc/self/maps")
	commtest.Must(t, err)
	return Footprint{len(open), bytes.Count(maps, []byte("/memfd:")), runtime.NumGoroutine()}
}

// DialBare connects to a listener without a hello.
func DialBare(l *wire.Listener) (net.Conn, error) {
	network, place, _ := strings.Cut(l.Address(), ":")
	if network != wire.Unix.Name() {
		network = "tcp"
	}
	return net.Dial(network, place)
}
