package bench

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/bench"
	"github.com/psbench/psbench/internal/comm/fabric"
	"github.com/psbench/psbench/internal/host/hosttest"
	"github.com/psbench/psbench/internal/host/process"
	"github.com/psbench/psbench/internal/host/server"
	"github.com/psbench/psbench/sdk"
)

// adder is a server that answers with the sum of the pushes. The function spoil may falsify the sum
// first.
type adder struct {
	spoil    func(batch int64, sum *tensor.Gradient)
	sums     []tensor.Gradient
	trainers int
	mu       sync.Mutex
	waiting  [][]sdk.Push // by bucket
}

func (s *adder) Reset() {}
func (s *adder) Receive(p sdk.Push) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	pushes := append(s.waiting[p.Bucket], p)
	if s.waiting[p.Bucket] = pushes; len(pushes) < s.trainers {
		return nil
	}
	s.waiting[p.Bucket] = nil
	merger := tensor.NewRowMerger(len(pushes))
	sum := &s.sums[pushes[0].Bucket]
	if pushes[0].Gradient.Sparse() {
		merger.Reset()
		for _, p := range pushes {
			merger.Add(p.Gradient)
		}
		if err := merger.Sum(sum); err != nil {
			return err
		}
	} else {
		clear(sum.Values)
		for _, p := range pushes {
			for i, v := range p.Gradient.Values {
				sum.Values[i] += v
			}
		}
	}
	if s.spoil != nil {
		s.spoil(pushes[0].Batch, sum)
	}
	for _, p := range pushes {
		if err := p.Answer(sum); err != nil {
			return err
		}
	}
	return nil
}

var benchSpecs = []tensor.BucketSpec{
	{Elements: 3000},
	{Index: 1, Elements: 50 * 4, Sparse: true, TableRows: 50, Width: 4, Capacity: 50},
}

// summing is a hook that computes the sum.
var summing = sdk.NewHook("summing", struct{}{}, func(_ struct{}, env sdk.HookEnv) (sdk.Hook, error) {
	return sums{env.Group}, nil
}, sdk.LinkGroup)

type sums struct{ group comm.Group }

func (s sums) Reset() {}
func (s sums) Reduce(state sdk.HookState, b *tensor.Bucket) *comm.Future {
	return s.group.AllReduce(state.Batch(), b)
}

// benchWorld holds some bench processes and a summing server, all in the test's process.
type benchWorld struct {
	t     *testing.T
	ranks []*Role
}

func openBench(t *testing.T, transport string, trainers int, spoil func(int64, *tensor.Gradient)) *benchWorld {
	t.Helper()
	w := &benchWorld{t: t}
	parts := []sdk.Part{sdk.NewServer("adder", struct{}{}, func(_ struct{}, env sdk.ServerEnv) (sdk.Server, error) {
		s := &adder{spoil: spoil, trainers: env.Trainers, waiting: make([][]sdk.Push, len(env.Buckets))}
		for _, spec := range env.Buckets {
			s.sums = append(s.sums, tensor.NewGradient(spec))
		}
		return s, nil
	})}
	dir := hosttest.Folder(t)
	role := server.New(hosttest.Process(t, dir, parts, process.Config{
		Name: "server", Part: hosttest.Choice("server", "adder"),
		Transport: transport, Listen: "127.0.0.1",
	}), server.Config{})
	var peers, lineUp []process.Peer
	for i := range trainers {
		proc := hosttest.Process(t, dir, []sdk.Part{summing}, process.Config{
			Name: fmt.Sprintf("trainer%d", i), Rank: i,
			Transport: transport, Listen: "127.0.0.1",
		})
		r := New(proc, Config{Hook: new(hosttest.Choice(sdk.KindHook, summing.Key)), Trainers: trainers})
		w.ranks = append(w.ranks, r)
		peers = append(peers, hosttest.LinkPeerOf(proc))
		lineUp = append(lineUp, hosttest.PeerOf(proc))
	}
	var joined sync.WaitGroup
	joined.Go(func() {
		if _, err := role.Connect(server.Peers{Buckets: benchSpecs, Trainers: peers}); err != nil {
			t.Error(err)
		}
	})
	for i, r := range w.ranks {
		joined.Go(func() {
			pushTo := hosttest.LinkPeerOf(role.Process)
			err := r.Connect(Peers{
				Buckets: benchSpecs, Server: &pushTo,
				Group: &process.Group{Members: peers, Position: i}, Sync: process.Group{Members: lineUp, Position: i},
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	joined.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return w
}

// measure runs the request on all ranks and returns the first mismatch.
func (w *benchWorld) measure(req Request) string {
	w.t.Helper()
	req.Partners, req.Density = nil, 0.5
	for i := range w.ranks {
		req.Partners = append(req.Partners, i)
	}
	replies := make([]*Rounds, len(w.ranks))
	var all sync.WaitGroup
	for i, r := range w.ranks {
		all.Go(func() {
			var err error
			if replies[i], err = r.Measure(req); err != nil {
				w.t.Error(err)
			}
		})
	}
	all.Wait()
	mismatch := ""
	for i, reply := range replies {
		if len(reply.LatenciesNS) != req.Rounds {
			w.t.Fatalf("trainer%d measured %d of %d rounds", i, len(reply.LatenciesNS), req.Rounds)
		}
		for _, ns := range reply.LatenciesNS {
			if ns <= 0 {
				w.t.Errorf("trainer%d took %d ns", i, ns)
			}
		}
		if mismatch == "" {
			mismatch = reply.Mismatch
		}
	}
	return mismatch
}

func TestBenchRoundsAreVerified(t *testing.T) {
	for _, transport := range fabric.Names() {
		t.Run(transport, func(t *testing.T) { verifiedRounds(t, transport) })
	}
}

func verifiedRounds(t *testing.T, transport string) {
	w := openBench(t, transport, 3, nil)
	first := int64(0)
	for _, o := range bench.Operations {
		for bucket, spec := range benchSpecs {
			if o.Dense && spec.Sparse {
				continue
			}
			for _, copied := range []bool{false, true} {
				for _, fresh := range []bool{false, true} {
					got := w.measure(Request{
						Operation: o.Name, Bucket: bucket, First: first, Rounds: 4,
						Fresh: fresh, Copy: copied, Expect: Sum,
					})
					if got != "" {
						t.Errorf("%s, bucket %d, copied %v, fresh %v: %s", o.Name, bucket, copied, fresh, got)
					}
					first += 5
				}
			}
		}
	}
}

func TestBenchNoticesAWrongAnswer(t *testing.T) {
	spoil := func(batch int64, sum *tensor.Gradient) {
		if batch == 3 {
			sum.Values[17] += 0.5
		}
	}
	w := openBench(t, "unix", 2, spoil)
	req := Request{
		Operation: "pushpull", First: 2, Rounds: 3, Fresh: true, Expect: Sum,
	}
	if got := w.measure(req); !strings.HasPrefix(got, "element 17 of round 3 on trainer0 is ") ||
		!strings.Contains(got, ".5 instead of ") {
		t.Errorf("the mismatch is %q", got)
	}
	req.First, req.Expect = 5, Mean
	if got := w.measure(req); got == "" {
		t.Error("a sum passes for a mean")
	}
	req.First, req.Expect = 8, Anything
	if got := w.measure(req); got != "" {
		t.Errorf("anything was expected, but %s", got)
	}
	// Warm rounds are not verified, but the fresh round before the warm rounds is.
	req.First, req.Expect, req.Fresh = 11, Mean, false
	if got := w.measure(req); !strings.Contains(got, " of round 11 on ") {
		t.Errorf("the mismatch before warm rounds is %q", got)
	}
}

func TestBenchRefusals(t *testing.T) {
	w := openBench(t, "unix", 1, nil)
	lonely := &Role{Process: w.ranks[0].Process}
	const push, reduce = "pushpull", "allreduce"
	for name, test := range map[string]struct {
		role *Role
		req  Request
		want string
	}{
		"no rounds": {w.ranks[0], Request{Operation: push},
			"trainer0 cannot measure 0 rounds from round 0 on: it takes one or more rounds, from round 0 on"},
		"before the first": {w.ranks[0], Request{Operation: push, Rounds: 1, First: -1},
			"trainer0 cannot measure 1 rounds from round -1 on: it takes one or more rounds, from round 0 on"},
		"no such bucket": {w.ranks[0], Request{Operation: push, Rounds: 1, Bucket: 2},
			"trainer0 has no bucket 2: it has 2"},
		"no server": {lonely, Request{Operation: push, Rounds: 1},
			"trainer0 cannot run pushpull: it has joined no server"},
		"no group": {lonely, Request{Operation: reduce, Rounds: 1},
			"trainer0 cannot run allreduce: it has joined no group"},
		"no operation": {w.ranks[0], Request{Rounds: 1}, "trainer0 does not know the operation \"\""},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := test.role.Measure(test.req); err == nil || err.Error() != test.want {
				t.Errorf("%s: %v, want %s", name, err, test.want)
			}
		})
	}
}

func TestTimedRoundsAllocateNothing(t *testing.T) {
	const rounds = 200
	w := openBench(t, "shm", 2, nil)
	var works []*work
	for _, r := range w.ranks {
		work, err := r.prepare(Request{Operation: "allreduce", Rounds: 1})
		hosttest.Must(t, err)
		works = append(works, work)
	}
	var other sync.WaitGroup
	other.Go(func() {
		for i := range int64(rounds + 1) {
			if _, err := works[1].timed(i); err != nil {
				t.Error(err)
			}
		}
	})
	number := int64(0)
	allocs := testing.AllocsPerRun(rounds, func() { // AllocsPerRun runs the function once more
		if _, err := works[0].timed(number); err != nil {
			t.Error(err)
		}
		number++
	})
	other.Wait()
	if allocs != 0 {
		t.Errorf("a timed round allocates %v times", allocs)
	}
}
