// Package linktest joins ranks for the tests of links.
package comm

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

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm/internal/commtest"
	"github.com/psbench/psbench/comm/tensor"
)

const patience = 20 * time.Second

var testSecret = []byte("0123456789abcdef0123456789abcdef")

// shortDir is a folder whose sockets stay within the kernel's path limit.
func shortDir(t commtest.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ps")
	commtest.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// networks are what carries frames.
var networks = []*Network{Unix, TCP, GRPC}

// overNetworks runs test once per network.
func overNetworks(t *testing.T, test func(t *testing.T, n *Network)) {
	for _, n := range networks {
		t.Run(n.Name(), func(t *testing.T) { test(t, n) })
	}
}

func listen(t commtest.TB, n *Network, name string) *Listener {
	t.Helper()
	at := "127.0.0.1"
	if n == Unix {
		at = filepath.Join(shortDir(t), name)
	}
	l, err := n.Listen(at, name, testSecret)
	commtest.Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// link joins the ranks named from and to.
func link(t commtest.TB, n *Network, from, to string) (atFrom, atTo *Conn) {
	t.Helper()
	l := listen(t, n, to)
	atFrom, err := n.Dial(l.Address(), Call{from, to, "test", testSecret, patience})
	commtest.Must(t, err)
	t.Cleanup(func() { _ = atFrom.Close() })
	atTo, err = l.Accept("test", from, patience)
	commtest.Must(t, err)
	t.Cleanup(func() { _ = atTo.Close() })
	return atFrom, atTo
}

func name(rank int) string { return fmt.Sprintf("trainer%d", rank) }

func same(specs ...tensor.BucketSpec) func(int) []tensor.BucketSpec {
	return func(int) []tensor.BucketSpec { return specs }
}

// drawMean draws whether to average, and then divides the sums by size.
func drawMean(t *rapid.T, size int, sums [][]float64) bool {
	mean := rapid.Bool().Draw(t, "mean")
	if mean {
		for _, s := range sums {
			for i := range s {
				s[i] /= float64(size)
			}
		}
	}
	return mean
}

func reduceWith(g Group, mean bool) func(int64, *tensor.Bucket) *Future {
	if mean {
		return g.Average
	}
	return g.AllReduce
}

// footprint is what a process holds: descriptors, mappings of segments, and
// goroutines.
type footprint struct{ descriptors, mappings, goroutines int }

func footprintNow(t commtest.TB) footprint {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	commtest.Must(t, err)
	maps, err := os.ReadFile("/proc/self/maps")
	commtest.Must(t, err)
	return footprint{len(open), bytes.Count(maps, []byte("/memfd:")), runtime.NumGoroutine()}
}

// dialBare connects to a listener without a hello.
func dialBare(l *Listener) (net.Conn, error) {
	network, place, _ := strings.Cut(l.Address(), ":")
	if network != Unix.Name() {
		network = "tcp"
	}
	return net.Dial(network, place)
}
