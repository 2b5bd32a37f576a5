// Package hosttest provides processes, parts and data for the tests of packages under
// internal/host.
package hosttest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/record"
	"github.com/psbench/psbench/sdk"
)

// Transports are the transports over which tests run links.
var Transports = fabric.Names()

// Patience is a timeout that no test should reach.
const Patience = 20 * time.Second

// TestSecret is the secret of the test run.
var TestSecret = []byte("0123456789abcdef0123456789abcdef")

// Must ends a test or a property check if err is not nil.
func Must(t interface {
	Helper()
	Fatal(...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Folder returns a temporary folder whose path is short enough for socket paths.
func Folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sdk")
	Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Process creates a process as Configure does. The transport is Unix sockets unless c names
// another. The test's end stops everything that the process's role runs.
func Process(t testing.TB, dir string, parts []sdk.Part, c process.Config) *process.Process {
	t.Helper()
	c.Directory, c.Secret = dir, TestSecret
	if c.Timeout == 0 {
		c.Timeout = Patience
	}
	if c.Transport == "" {
		c.Transport = "unix"
	}
	p, err := process.New(parts, c, process.NewEvents())
	Must(t, err)
	t.Cleanup(p.Close)
	return p
}

// Choice returns the choice of a part without settings.
func Choice(kind sdk.Kind, key string) process.Choice { return process.Choice{Kind: kind, Key: key} }

// PeerOf returns the peer to dial to reach a process over Unix sockets.
func PeerOf(p *process.Process) process.Peer {
	return process.Peer{Name: p.Name(), Address: p.Address()}
}

// Pair returns both ends of a link between a trainer and a companion.
func Pair(t testing.TB) (trainer, companion *wire.Conn) {
	t.Helper()
	l, err := wire.Unix.Listen(filepath.Join(Folder(t), "s"), "companion", TestSecret)
	Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	trainer, err = wire.Unix.Dial(l.Address(),
		wire.Call{From: "trainer0", To: "companion", Purpose: "test", Secret: TestSecret, Timeout: Patience})
	Must(t, err)
	t.Cleanup(func() { _ = trainer.Close() })
	companion, err = l.Accept("test", "trainer0", Patience)
	Must(t, err)
	t.Cleanup(func() { _ = companion.Close() })
	return trainer, companion
}

// Await waits until done returns true.
func Await(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come about")
		}
	}
}

// LinkPeerOf returns the peer to dial from the same host to reach a process over the run's
// transport.
func LinkPeerOf(p *process.Process) process.Peer {
	if p.Fabric.Within != nil {
		return PeerOf(p)
	}
	return process.Peer{Name: p.Name(), Address: p.LinkAddress()}
}

// Failure returns the failure that a process reports. If none comes, the test fails.
func Failure(t *testing.T, p *process.Process) error {
	t.Helper()
	select {
	case err := <-p.Events.Failures:
		return err
	case <-time.After(Patience):
		t.Fatal("no message")
		return nil
	}
}

// SummariesOf returns the summaries of parameters that a role sends.
func SummariesOf(t *testing.T, r interface{ Collect(record.Send) error }) (out []record.Summary) {
	t.Helper()
	Must(t, r.Collect(func(p record.Piece) error {
		if s, ok := p.(*record.Summary); ok {
			out = append(out, *s)
		}
		return nil
	}))
	return out
}

// TimesIn returns the measurements of all series with this name.
func TimesIn(r *sdk.Recorder, name string) []sdk.Measurement {
	var out []sdk.Measurement
	for _, series := range r.All().Series {
		if series.Name == name {
			series.Each(func(m sdk.Measurement) { out = append(out, m) })
		}
	}
	return out
}
