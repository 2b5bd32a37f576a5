package sdk

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/sdk/proto"
)

// tested are the transports over which links are tested.
var tested = comm.Transports

const patience = 20 * time.Second

var testSecret = []byte("0123456789abcdef0123456789abcdef")

// must ends a test or a property check with err.
func must(t interface {
	Helper()
	Fatal(...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// folder is short enough for the paths of sockets.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sdk")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// stationOf makes a station as Configure does; what its role runs ends with the
// test.
func stationOf(t testing.TB, dir string, parts []Part, req *proto.ConfigureRequest) *station {
	t.Helper()
	req.Directory, req.Secret = dir, testSecret
	if req.TimeoutNs == 0 {
		req.TimeoutNs = int64(patience)
	}
	if req.Transport == "" {
		req.Transport = string(comm.Unix)
	}
	st, err := newStation(parts, req, newEvents())
	must(t, err)
	t.Cleanup(st.close)
	return st
}

func peerOf(st *station) *proto.Peer {
	return &proto.Peer{Name: st.name(), Address: st.address()}
}

// pair is a link between a trainer and a companion.
func pair(t testing.TB) (trainer, companion *comm.Conn) {
	t.Helper()
	l, err := comm.Listen(comm.Unix, filepath.Join(folder(t), "s"), "companion", testSecret)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	trainer, err = comm.Dial(l.Address(), "trainer0", "companion", "test", testSecret, patience)
	must(t, err)
	t.Cleanup(func() { _ = trainer.Close() })
	companion, err = l.Accept("test", "trainer0", patience)
	must(t, err)
	t.Cleanup(func() { _ = companion.Close() })
	return trainer, companion
}

// await waits until done.
func await(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come about")
		}
	}
}

// linkPeerOf is a process where it takes the links of the run's transport.
func linkPeerOf(st *station) *proto.Peer {
	return &proto.Peer{Name: st.name(), Address: st.linkAddress()}
}

// failure is what a process tells of, or an error of the test.
func failure(t *testing.T, st *station) *proto.Failure {
	t.Helper()
	select {
	case event := <-st.events.failures:
		return event.GetFailure()
	case <-time.After(patience):
		t.Fatal("nothing is told")
		return nil
	}
}

// summariesOf are what a role tells of its parameters.
func summariesOf(t *testing.T, r interface {
	collect(func(*proto.CollectReply) error) error
}) (out []*proto.ParameterSummary) {
	t.Helper()
	must(t, r.collect(func(reply *proto.CollectReply) error {
		out = append(out, reply.GetParameters()...)
		return nil
	}))
	return out
}

// timesIn are the measurements of all series with a name.
func timesIn(r *Recorder, name string) []Measurement {
	var out []Measurement
	for _, series := range r.All() {
		if series.Name == name {
			series.Each(func(m Measurement) { out = append(out, m) })
		}
	}
	return out
}
