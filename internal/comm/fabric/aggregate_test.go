package fabric

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/provider"
	"github.com/psbench/psbench/internal/comm/wire"
)

// aggregated lists the hosts of trainers; the server is on host 0. The first
// cases place the trainers 2+2, 3+1, 1+3 and 2+1+1. The last case but one
// mixes the order of hosts; the last leaves the server's host without trainers.
var aggregated = [][]int{{0, 0, 1, 1}, {1, 1, 1, 0}, {0, 1, 1, 1}, {1, 1, 2, 0}, {0, 1, 0, 1, 2, 2}, {1, 1}}

// serveAggregated joins trainers to a server. Trainers that share a host
// without the server push as one. pushers is the number of the port's links.
func serveAggregated(t commtest.TB, on []int, timeout time.Duration, chunked bool, specs []tensor.BucketSpec,
	handle func(*comm.Arrival) error) (s *served, pushers int) {
	t.Helper()
	s = &served{links: make([]comm.ServerLink, len(on)), near: make([]*wire.Conn, len(on)), done: make(chan error, 1)}
	byHosts := map[int][]int{}
	for i, host := range on {
		store, err := byHost.NewStore(linktest.Name(i), specs)
		commtest.Must(t, err)
		s.stores = append(s.stores, store)
		byHosts[host] = append(byHosts[host], i)
	}
	var far []*wire.Conn
	joins := make([]func() (comm.ServerLink, error), len(on))
	for i, host := range on {
		first := host == 0 || byHosts[host][0] == i
		if first {
			near, at := linktest.Link(t, byHost.Link(host == 0).Network, linktest.Name(i), "server9")
			s.near[i], far = near, append(far, at)
		}
		if host == 0 || len(byHosts[host]) == 1 {
			joins[i] = func() (comm.ServerLink, error) { return byHost.NewServerLink(s.near[i], s.stores[i], timeout) }
		}
	}
	for host, together := range byHosts {
		if host == 0 || len(together) == 1 {
			continue
		}
		conns := make([][]*wire.Conn, len(together))
		for a := range together {
			conns[a] = make([]*wire.Conn, len(together))
			for b := range a {
				conns[a][b], conns[b][a] = linktest.Link(t, wire.Unix, linktest.Name(together[a]),
					linktest.Name(together[b]))
			}
		}
		for place, i := range together {
			here := wire.Links{Self: linktest.Name(i), Conns: conns[place], Timeout: timeout}
			joins[i] = func() (comm.ServerLink, error) {
				return byHost.Provider.(provider.Aggregator).NewAggregate(here, place, s.near[i], s.stores[i])
			}
		}
	}
	errs := make([]error, len(on)+1)
	var joined sync.WaitGroup
	for i, join := range joins {
		joined.Go(func() { s.links[i], errs[i] = join() })
	}
	s.port, errs[len(on)] = byHost.NewPort(wire.Links{Self: "server9", Conns: far, Timeout: timeout}, specs, chunked)
	joined.Wait()
	commtest.Must(t, errors.Join(errs...))
	go func() { s.done <- s.port.Serve(handle) }()
	t.Cleanup(func() {
		for i, l := range s.links {
			_ = l.Close()
			_ = s.stores[i].Close()
		}
		_ = s.port.Close()
	})
	return s, len(far)
}

// pushersOf counts the pushers: every trainer on the server's host, and one per
// other host.
func pushersOf(on []int) (count int) {
	seen := map[int]bool{}
	for _, host := range on {
		if host == 0 || !seen[host] {
			count++
		}
		seen[host] = true
	}
	return count
}

// All trainers get the mean over all trainers, on every host and wherever their
// gradients lie. The server gets one push per host without the server.
func TestAggregatesAverage(t *testing.T) {
	commtest.Check(t, func(t *rapid.T) {
		on := rapid.SampledFrom(aggregated).Draw(t, "hosts")
		specs := []tensor.BucketSpec{
			commtest.DenseSpec(0, rapid.SampledFrom([]int{0, 9, 5000, comm.ChunkElements}).Draw(t, "some")),
			commtest.DenseSpec(1, 2*comm.ChunkElements+7), commtest.SparseSpec(2, 50, 3, 50),
		}
		chunked := rapid.Bool().Draw(t, "chunked")
		server := linktest.NewAverager(pushersOf(on), specs)
		server.Of = len(on)
		s, pushers := serveAggregated(t, on, linktest.Patience, chunked, specs, server.Handle)
		if pushers != pushersOf(on) {
			t.Fatalf("of trainers on %v %d push", on, pushers)
		}
		s.requireMeans(t, specs, 3)
	})
}

// Trainers that share a host send one sum: each push to the server holds the
// sum over the host.
func TestAggregatesPushOneSum(t *testing.T) {
	specs := []tensor.BucketSpec{commtest.DenseSpec(0, 2*comm.ChunkElements+7)}
	pushed := make(chan float32, 3)
	s, _ := serveAggregated(t, []int{1, 1, 1}, linktest.Patience, true, specs, func(a *comm.Arrival) error {
		pushed <- a.Gradient.Values[0]
		return a.Answer(a.Gradient)
	})
	var all sync.WaitGroup
	for i, l := range s.links {
		b := s.stores[i].Buckets[0]
		for k := range b.Gradient.Values {
			b.Gradient.Values[k] = float32(i + 1)
		}
		all.Go(func() {
			if err := l.PushPull(0, b).Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(pushed) != 3 {
		t.Errorf("the server got %d chunks, want 3", len(pushed))
	}
	for range len(pushed) {
		if sum := <-pushed; sum != 1+2+3 {
			t.Errorf("a chunk of the push is %g, want 6", sum)
		}
	}
}

// If a trainer or the server is late, at least one of the ranks that wait
// directly for it names it in an error.
func TestAggregatesNameWhoIsLate(t *testing.T) {
	specs := []tensor.BucketSpec{commtest.DenseSpec(0, 2*comm.ChunkElements)}
	for late := range 4 { // 3: the server
		s, _ := serveAggregated(t, []int{1, 1, 1}, 300*time.Millisecond, true, specs,
			func(*comm.Arrival) error { return nil })
		var mu sync.Mutex
		var waited []string
		var all sync.WaitGroup
		for i, l := range s.links {
			if i == late {
				continue
			}
			all.Go(func() {
				err := l.PushPull(0, s.stores[i].Buckets[0]).Wait()
				mu.Lock()
				defer mu.Unlock()
				if wait, ok := errors.AsType[*comm.WaitError](err); ok {
					waited = append(waited, strings.Join(wait.For, " "))
				} else if _, ok := errors.AsType[*comm.PeerError](err); !ok {
					t.Errorf("without %d, trainer%d says %v", late, i, err)
				}
			})
		}
		all.Wait()
		want := "server9"
		if late < 3 {
			want = linktest.Name(late)
		}
		named := false
		for _, name := range waited {
			named = named || name == want
		}
		if !named {
			t.Errorf("nobody waited for %s: %q", want, waited)
		}
	}
}

// If the last trainer of a host comes late, the host's push keeps the deadline
// of the earlier trainers. The error then names the server, not the late
// trainer.
func TestAggregatesKeepTheDeadline(t *testing.T) {
	specs := []tensor.BucketSpec{commtest.DenseSpec(0, 9)}
	const timeout = 2 * time.Second
	s, _ := serveAggregated(t, []int{1, 1, 1}, timeout, true, specs, func(*comm.Arrival) error { return nil })
	errs := make([]error, 3)
	var all sync.WaitGroup
	for i, l := range s.links {
		all.Go(func() {
			if i == 2 {
				time.Sleep(timeout / 2)
			}
			errs[i] = l.PushPull(4, s.stores[i].Buckets[0]).Wait()
		})
	}
	all.Wait()
	const want = "trainer0 waited 2 s for the answer to batch 4, bucket 0 from server9"
	if errs[0] == nil || errs[0].Error() != want {
		t.Errorf("the errors are %v, want %s", errs, want)
	}
}

// If a trainer or the server is gone, the waits of all other ranks end.
func TestAggregatesNoticeWhoIsGone(t *testing.T) {
	specs := []tensor.BucketSpec{commtest.DenseSpec(0, 2*comm.ChunkElements)}
	for gone := range 4 { // 3: the server
		s, pushers := serveAggregated(t, []int{1, 1, 1}, linktest.Patience, true, specs,
			linktest.NewAverager(1, specs).Handle)
		if pushers != 1 {
			t.Fatalf("%d push", pushers)
		}
		errs := make([]error, 3)
		var all sync.WaitGroup
		for i, l := range s.links {
			if i != gone {
				all.Go(func() { errs[i] = l.PushPull(0, s.stores[i].Buckets[0]).Wait() })
			}
		}
		want := "server9"
		if gone == 3 { // the server has no push to answer before it ends
			_ = s.port.Close()
		} else {
			want = linktest.Name(gone)
			time.Sleep(time.Duration(gone) * time.Millisecond)
			_ = s.links[gone].Close()
		}
		all.Wait()
		named := gone == 3 && errs[0] == nil // trainer0's push ended first
		for i, err := range errs {
			peer, ok := errors.AsType[*comm.PeerError](err)
			if i != gone && err != nil && !ok {
				t.Errorf("without %s: trainer%d says %v", want, i, err)
			}
			named = named || ok && peer.Peer == want
		}
		if !named {
			t.Errorf("nobody names %s, which is gone: %v", want, errs)
		}
	}
}

// Trainers that push as one allocate nothing in the steady state and leak
// nothing after their end.
func TestAggregatesLeaveNothing(t *testing.T) {
	specs := []tensor.BucketSpec{commtest.DenseSpec(0, 2*comm.ChunkElements+7), commtest.SparseSpec(1, 50, 3, 50)}
	once := func() {
		t.Run("", func(t *testing.T) { // the subtest's clean-up closes everything
			s, _ := serveAggregated(t, []int{1, 1, 0}, linktest.Patience, true, specs,
				linktest.NewAverager(2, specs).Handle)
			batch := make([]int64, len(s.links))
			p := linktest.NewTogether(len(s.links), func(rank int) error {
				batch[rank]++
				first := s.links[rank].PushPull(batch[rank], s.stores[rank].Buckets[0])
				second := s.links[rank].PushPull(batch[rank], s.stores[rank].Buckets[1])
				return errors.Join(first.Wait(), second.Wait())
			})
			defer p.Close()
			p.Round(t)
			if allocs := testing.AllocsPerRun(30, func() { p.Round(t) }); allocs != 0 {
				t.Errorf("a round allocates %g times", allocs)
			}
			for _, l := range s.links {
				commtest.Must(t, l.Close())
			}
			commtest.Must(t, <-s.done) // a port keeps its memory if it closes before every trainer has ended its link
		})
	}
	once()
	before := linktest.FootprintNow(t)
	once()
	const slack = 10 // goroutines of the runtime and of the test itself
	var after linktest.Footprint
	for range 50 { // goroutines get a moment to end
		after = linktest.FootprintNow(t)
		if after.Descriptors <= before.Descriptors && after.Mappings <= before.Mappings &&
			after.Goroutines <= before.Goroutines+slack {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("once more left %+v, before that it was %+v", after, before)
}
