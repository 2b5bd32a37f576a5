package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/host/fault"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/sdk"
)

// manual is a server that passes its pushes to the test. The test answers the pushes.
type manual struct{ calls chan sdk.Push }

func (m *manual) Reset() {}
func (m *manual) Receive(p sdk.Push) error {
	m.calls <- p
	return nil
}

// fixture is a server role with one link for each trainer.
type fixture struct {
	t       *testing.T
	role    *Role
	server  *manual
	links   []comm.ServerLink
	buckets []*tensor.Bucket // one for each trainer
}

// newFixture starts a manual server. The functions in declared change the declaration of its part.
func newFixture(t *testing.T, trainers int, timeout time.Duration, declared ...func(sdk.Part) sdk.Part) *fixture {
	t.Helper()
	m := &manual{make(chan sdk.Push, 16)}
	s := &fixture{t: t, server: m}
	var stores []*comm.Store
	part := whole(m)
	for _, declare := range declared {
		part = declare(part)
	}
	s.role, s.links, stores = openServer(t, "unix", part, []tensor.BucketSpec{{Elements: 2}}, trainers, timeout)
	for _, store := range stores {
		s.buckets = append(s.buckets, store.Buckets[0])
	}
	return s
}

// whole returns a part whose server takes whole gradients.
func whole(s sdk.Server) sdk.Part {
	return sdk.NewServer("tested", struct{}{}, func(struct{}, sdk.ServerEnv) (sdk.Server, error) { return s, nil })
}

// elementwise returns a part whose server methods are called by the host.
func elementwise(timing sdk.Timing, s sdk.ElementwiseServer) sdk.Part {
	return sdk.NewElementwiseServer("tested", timing, struct{}{},
		func(struct{}, sdk.ServerEnv) (sdk.ElementwiseServer, error) { return s, nil })
}

// openServer starts a server and links trainers to it.
func openServer(t testing.TB, transport string, server sdk.Part, specs []tensor.BucketSpec, trainers int,
	timeout time.Duration) (*Role, []comm.ServerLink, []*comm.Store) {
	t.Helper()
	proc := hosttest.Process(t, hosttest.Folder(t), []sdk.Part{server}, process.Config{
		Name: "server9", Part: hosttest.Choice("server", "tested"), Timeout: timeout,
		Transport: transport, Listen: "127.0.0.1",
	})
	return openRole(t, New(proc, Config{Asynchronous: server.Asynchronous}), Peers{Buckets: specs}, trainers)
}

// openRole links trainers to the server of a role.
func openRole(t testing.TB, role *Role, req Peers, trainers int) (*Role, []comm.ServerLink, []*comm.Store) {
	t.Helper()
	proc := role.Process
	links, stores := make([]comm.ServerLink, trainers), make([]*comm.Store, trainers)
	joined := make(chan error, trainers)
	for i := range trainers {
		name := fmt.Sprintf("trainer%d", i)
		req.Trainers = append(req.Trainers, process.Peer{Name: name})
		var err error
		stores[i], err = proc.NewStore(req.Buckets)
		hosttest.Must(t, err)
		go func() {
			conn, err := proc.Fabric.Network.Dial(proc.LinkAddress(),
				wire.Call{From: name, To: "server9", Purpose: process.PurposePush, Secret: hosttest.TestSecret,
					Timeout: hosttest.Patience})
			if err == nil {
				links[i], err = proc.Fabric.NewServerLink(conn, stores[i], hosttest.Patience)
			}
			joined <- err
		}()
	}
	_, err := role.Connect(req)
	for range trainers {
		hosttest.Must(t, <-joined)
	}
	hosttest.Must(t, err)
	t.Cleanup(func() {
		for i, l := range links {
			_ = l.Close()
			_ = stores[i].Close()
		}
	})
	return role, links, stores
}

// late returns a time at which every wait begun so far is overdue.
func late() int64 { return comm.Now() + int64(2*hosttest.Patience) }

// push sends a trainer's bucket and returns the push that the server gets. push first waits until
// Receive has returned, because the server itself counts as late until then.
func (s *fixture) push(trainer int, batch int64) (*comm.Future, sdk.Push) {
	s.t.Helper()
	f := s.links[trainer].PushPull(batch, s.buckets[trainer])
	p := <-s.server.calls
	hosttest.Await(s.t, func() bool { return s.role.buckets[p.Bucket].takenNS[trainer].Load() == 0 })
	return f, p
}

func (s *fixture) times(name string) []sdk.Measurement { return timesOf(s.role, name) }

func timesOf(role *Role, name string) []sdk.Measurement {
	role.awaitAnswers()
	return hosttest.TimesIn(role.Recorder, name)
}

func TestServerMetrics(t *testing.T) {
	s := newFixture(t, 2, hosttest.Patience)
	start := comm.Now()
	f1, first := s.push(1, 7)
	between := comm.Now()
	f0, second := s.push(0, 7)
	arrived := comm.Now()
	if got := s.times("param_index_batch"); len(got) != 0 {
		t.Errorf("nothing is answered, but %v", got)
	}
	straggler := s.times("param_index_straggler")
	if len(straggler) != 1 || straggler[0].Key != (sdk.Key{A: 7, B: 0}) {
		t.Fatalf("the straggler series is %v", straggler)
	}
	from, to := straggler[0].StartNS, straggler[0].StartNS+straggler[0].DurationNS
	if from < start || from > between || to < between || to > arrived {
		t.Errorf("the straggler lasted from %d to %d; the pushes lie in %d, %d, %d", from, to, start, between, arrived)
	}
	hosttest.Must(t, first.Answer(first.Gradient))
	hosttest.Must(t, f1.Wait())
	answering := comm.Now()
	hosttest.Must(t, second.Answer(second.Gradient))
	hosttest.Must(t, f0.Wait())
	whole := s.times("param_index_batch")
	if len(whole) != 1 || whole[0].Key != (sdk.Key{A: 7, B: 0}) || whole[0].StartNS != from ||
		whole[0].StartNS+whole[0].DurationNS < answering {
		t.Errorf("the batch series is %v, from %d to after %d", whole, from, answering)
	}
	hosttest.Must(t, s.role.Reset())
	if got := s.times("param_index_batch"); len(got) != 0 {
		t.Errorf("after a reset: %v", got)
	}
}

// Between the answers of a synchronous server, the first trainer opens the next round. Both rounds
// are measured separately.
func TestTwoOpenRounds(t *testing.T) {
	s := newFixture(t, 2, hosttest.Patience)
	f0, p0 := s.push(0, 0)
	f1, p1 := s.push(1, 0)
	hosttest.Must(t, p0.Answer(p0.Gradient))
	hosttest.Must(t, f0.Wait())
	f0, p0 = s.push(0, 1)
	if p0.Batch != 1 || p1.Batch != 0 {
		t.Errorf("the open pushes are of batches %d and %d", p0.Batch, p1.Batch)
	}
	if open := len(s.role.buckets[0].rounds); open != 2 {
		t.Errorf("%d rounds are open", open)
	}
	hosttest.Must(t, p1.Answer(p1.Gradient))
	hosttest.Must(t, f1.Wait())
	f1, p1 = s.push(1, 1)
	hosttest.Must(t, p1.Answer(p1.Gradient))
	hosttest.Must(t, p0.Answer(p0.Gradient))
	hosttest.Must(t, f0.Wait())
	hosttest.Must(t, f1.Wait())
	for _, name := range []string{"param_index_straggler", "param_index_batch"} {
		t.Run(name, func(t *testing.T) {
			var keys []string
			for _, m := range s.times(name) {
				keys = append(keys, m.Key.String())
			}
			if d := cmp.Diff([]string{"0,0", "1,0"}, keys); d != "" {
				t.Errorf("%s: %s", name, d)
			}
		})
	}
	if rounds := len(s.role.buckets[0].rounds); rounds != 2 {
		t.Errorf("rounds are not used again: there are %d", rounds)
	}
}

func TestOverdueNamesTheMissing(t *testing.T) {
	s := newFixture(t, 4, hosttest.Patience)
	s.push(0, 5)
	s.push(2, 5)
	b := &s.role.buckets[0]
	if err := s.role.overdue(b, comm.Now()); err != nil {
		t.Errorf("within the time: %v", err)
	}
	err := s.role.overdue(b, late())
	if err == nil ||
		!strings.Contains(err.Error(), "for the gradient of batch 5, bucket 0 from trainer1 and trainer3") {
		t.Errorf("overdue says %v", err)
	}
	if f := fault.Describe(err); f.Cause != fault.Wait || !slices.Equal(f.About, []string{"trainer1", "trainer3"}) {
		t.Errorf("the failure is %v", f)
	}
}

func TestOverdueIsReported(t *testing.T) {
	// The timeout is long because other processes may delay even a Receive that returns at once.
	s := newFixture(t, 2, 500*time.Millisecond)
	s.push(1, 0)
	select {
	case err := <-s.role.Events.Failures:
		if about := fault.Describe(err).About; !slices.Equal(about, []string{"trainer0"}) {
			t.Errorf("the server waits for %v", about)
		}
	case <-time.After(hosttest.Patience):
		t.Error("a trainer that never comes is not reported")
	}
}
