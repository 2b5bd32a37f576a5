package fabric

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/wire"
)

// pretended lists the hosts of the members of some groups.
var pretended = [][]int{{0, 0, 1, 1}, {0, 0, 0, 1}, {0, 1}, {0, 1, 1, 1}, {0, 0, 1, 2}, {0, 1, 0, 1, 0}, {0, 0}}

// onHosts draws the hosts of one group.
func onHosts(t *rapid.T) []int { return rapid.SampledFrom(pretended).Draw(t, "hosts") }

// filled returns a function that draws a member's contents. The bucket is in
// the member's store or in separate memory.
func (g *group) filled(t *rapid.T) func(member, k int) *tensor.Bucket {
	return func(member, k int) *tensor.Bucket {
		b := place(g.stores[member], k, rapid.Bool().Draw(t, "copied"))
		commtest.Fill(t, b.BucketSpec, &b.Gradient, 20)
		return b
	}
}

func TestGroupsAcrossHostsSum(t *testing.T) {
	commtest.Check(t, func(t *rapid.T) {
		specs := []tensor.BucketSpec{
			commtest.DenseSpec(0, rapid.IntRange(0, 9).Draw(t, "few")),
			commtest.DenseSpec(1, rapid.IntRange(0, 30_000).Draw(t, "some")),
			commtest.DenseSpec(2, rapid.SampledFrom([]int{ringBlock, 5*ringBlock + 3}).Draw(t, "many")),
			commtest.SparseSpec(3, 50, rapid.IntRange(1, 300).Draw(t, "width"), 50),
		}
		g := joinGroup(t, byHost, onHosts(t), linktest.Patience, specs...)
		linktest.RequireSums(t, g.links, specs, 3, g.filled(t))
	})
}

func TestGroupsAcrossHostsBroadcast(t *testing.T) {
	commtest.Check(t, func(t *rapid.T) {
		specs := []tensor.BucketSpec{commtest.DenseSpec(0, rapid.IntRange(0, 2*ringBlock).Draw(t, "many")),
			commtest.SparseSpec(1, 50, 3, 50)}
		g := joinGroup(t, byHost, onHosts(t), linktest.Patience, specs...)
		linktest.RequireBroadcasts(t, g.links, specs, 2, g.filled(t))
	})
}

func TestGroupsAcrossHostsLineUp(t *testing.T) {
	for i, hosts := range pretended {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			g := joinGroup(t, byHost, hosts, linktest.Patience, commtest.DenseSpec(0, 4))
			linktest.RequireBarriers(t, g.links, int64(commtest.Rounds(100)),
				func(member int) *tensor.Bucket { return g.stores[member].Buckets[0] })
		})
	}
}

// If the sum has more rows than the bucket's capacity, every member gets an
// error.
func TestGroupsAcrossHostsRefuseTooManyRows(t *testing.T) {
	spec := commtest.SparseSpec(0, 10, 2, 3)
	g := joinGroup(t, byHost, []int{0, 0, 1, 1}, linktest.Patience, spec)
	err := g.all(func(i int, l comm.GroupLink) *comm.Future {
		b := g.stores[i].Buckets[0]
		commtest.Must(t, b.Gradient.SetRows(1))
		b.Gradient.Rows[0] = int32(2 * i)
		return l.AllReduce(0, b)
	})
	if err == nil || !strings.Contains(err.Error(), "more rows than its capacity of 3") {
		t.Errorf("four rows where three fit gave %v", err)
	}
}

// If a member is late, on any host, at least one of the members that wait
// directly for it names it in an error. The other members learn of that error,
// or name the member that they wait for.
func TestGroupsAcrossHostsNameWhoIsLate(t *testing.T) {
	start := map[string]func(l comm.GroupLink, b *tensor.Bucket) error{
		"all-reduce":     func(l comm.GroupLink, b *tensor.Bucket) error { return l.AllReduce(3, b).Wait() },
		"broadcast":      func(l comm.GroupLink, b *tensor.Bucket) error { return l.Broadcast(3, b, 0).Wait() },
		"reduce-scatter": func(l comm.GroupLink, b *tensor.Bucket) error { return l.ReduceScatter(3, b).Wait() },
		"all-to-all":     func(l comm.GroupLink, b *tensor.Bucket) error { return l.AllToAll(3, b).Wait() },
		"barrier":        func(l comm.GroupLink, _ *tensor.Bucket) error { return l.Barrier() },
	}
	pairs, lone := []int{0, 0, 1, 1}, []int{0, 0, 0, 1}
	for what, do := range start {
		t.Run(what, func(t *testing.T) {
			for _, c := range []struct {
				hosts []int
				late  int
			}{{pairs, 0}, {pairs, 1}, {pairs, 2}, {pairs, 3}, {lone, 2}, {lone, 3}} {
				// The root's host need not wait for the member on the other
				// host.
				if what == "broadcast" && &c.hosts[0] == &lone[0] && c.late == 3 {
					continue
				}
				g := joinGroup(t, byHost, c.hosts, 300*time.Millisecond, commtest.DenseSpec(0, 3*ringBlock))
				errs := g.errors(c.late, do)
				waited, named := map[int]string{}, false // the members that each member waited for
				for i, err := range errs {
					if wait, ok := errors.AsType[*comm.WaitError](err); ok {
						waited[i] = strings.Join(wait.For, " ")
						named = named || waited[i] == linktest.Name(c.late)
					} else if _, ok := errors.AsType[*comm.PeerError](err); i != c.late && !ok &&
						(what != "broadcast" || c.hosts[i] != 0) {
						t.Errorf("%s on %v without trainer%d: trainer%d says %v", what, c.hosts, c.late, i, err)
					}
				}
				if !named {
					t.Errorf("%s on %v: nobody waited for trainer%d: %v", what, c.hosts, c.late, waited)
				}
			}
		})
	}
}

// errors makes every member except one run do at once, and returns their
// errors.
func (g *group) errors(without int, do func(l comm.GroupLink, b *tensor.Bucket) error) []error {
	errs := make([]error, len(g.links))
	var ended sync.WaitGroup
	for i, l := range g.links {
		if i != without {
			ended.Go(func() { errs[i] = do(l, g.stores[i].Buckets[0]) })
		}
	}
	ended.Wait()
	return errs
}

// If a member leaves, in order or not, the waits of all other members end. The
// member may be on any host, with or without a rail.
func TestGroupsAcrossHostsNoticeWhoIsGone(t *testing.T) {
	for _, hosts := range [][]int{{0, 0, 1, 1}, {0, 0, 0, 1}, {0, 0, 1, 2}} {
		for gone := range hosts {
			g := joinGroup(t, byHost, hosts, linktest.Patience, commtest.DenseSpec(0, 3*ringBlock))
			commtest.Must(t,
				g.all(func(i int, l comm.GroupLink) *comm.Future { return l.AllReduce(0, g.stores[i].Buckets[0]) }))
			pending := make(chan []error, 1)
			go func() {
				pending <- g.errors(gone, func(l comm.GroupLink, b *tensor.Bucket) error {
					return l.AllReduce(1, b).Wait()
				})
			}()
			time.Sleep(time.Duration(gone) * time.Millisecond)
			commtest.Must(t, g.links[gone].Close())
			named := false
			for i, err := range <-pending {
				peer, ok := errors.AsType[*comm.PeerError](err)
				if i != gone && !ok {
					t.Errorf("on %v without trainer%d: trainer%d says %v", hosts, gone, i, err)
				}
				named = named || ok && peer.Peer == linktest.Name(gone)
			}
			if !named {
				t.Errorf("on %v nobody names trainer%d, which left", hosts, gone)
			}
		}
	}
}

// served is a set of trainers and their server, which is on host 0.
type served struct {
	links  []comm.ServerLink
	stores []*comm.Store
	near   []*wire.Conn
	port   comm.Port
	done   chan error // the result of Serve
}

func serve(t commtest.TB, hosts []int, timeout time.Duration, chunked bool, specs []tensor.BucketSpec,
	handle func(*comm.Arrival) error) *served {
	t.Helper()
	s := &served{links: make([]comm.ServerLink, len(hosts)), done: make(chan error, 1)}
	errs := make([]error, len(hosts)+1)
	var far []*wire.Conn
	var joined sync.WaitGroup
	for i, host := range hosts {
		store, err := byHost.NewStore(linktest.Name(i), specs)
		commtest.Must(t, err)
		near, at := linktest.Link(t, byHost.Link(host == 0).Network, linktest.Name(i), "server9")
		s.stores, s.near, far = append(s.stores, store), append(s.near, near), append(far, at)
		joined.Go(func() { s.links[i], errs[i] = byHost.NewServerLink(near, store, timeout) })
	}
	s.port, errs[len(hosts)] = byHost.NewPort(wire.Links{Self: "server9", Conns: far, Timeout: timeout}, specs, chunked)
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
	return s
}

// requireMeans has trainers push random gradients, in place or copied, for some
// batches. Then it closes all links.
func (s *served) requireMeans(t *rapid.T, specs []tensor.BucketSpec, batches int64) {
	t.Helper()
	linktest.RequireMeans(t, s.links, specs, batches, func(trainer, k int) *tensor.Bucket {
		b := place(s.stores[trainer], k, rapid.Bool().Draw(t, "copied"))
		commtest.Fill(t, b.BucketSpec, &b.Gradient, 20)
		return b
	})
	for _, l := range s.links {
		commtest.Must(t, l.Close())
	}
	commtest.Must(t, <-s.done)
}

// All trainers get the mean, on every host and wherever their gradients lie.
// Trainers on the server's host get the mean in the memory that they pushed
// from.
func TestServersAcrossHostsAverage(t *testing.T) {
	commtest.Check(t, func(t *rapid.T) {
		hosts := rapid.SampledFrom([][]int{{0, 1}, {1, 0, 1}, {0, 0, 1, 1}, {1, 1, 1, 0}, {1, 2}}).Draw(t, "hosts")
		specs := []tensor.BucketSpec{
			commtest.DenseSpec(0, rapid.SampledFrom([]int{0, 9, comm.ChunkElements}).Draw(t, "some")),
			commtest.DenseSpec(1, 2*comm.ChunkElements+7), commtest.SparseSpec(2, 50, 3, 50),
		}
		chunked := rapid.Bool().Draw(t, "chunked")
		s := serve(t, hosts, linktest.Patience, chunked, specs, linktest.NewAverager(len(hosts), specs).Handle)
		s.requireMeans(t, specs, 2)
	})
}

// The port hands over a push from the server's host in the trainer's own
// memory. Such a push has as many chunks as a push from another host, and each
// chunk is answered once.
func TestServersAcrossHostsWorkInPlace(t *testing.T) {
	specs := []tensor.BucketSpec{commtest.DenseSpec(0, 2*comm.ChunkElements+7)}
	chunks := make(chan string, 6)
	var again error
	s := serve(t, []int{0, 1}, linktest.Patience, true, specs, func(a *comm.Arrival) error {
		chunks <- fmt.Sprintf("%d: chunk %d of %d, in place %v", a.Trainer, a.Chunk, a.Chunks, a.InPlace)
		for i := range a.Gradient.Values {
			a.Gradient.Values[i]++
		}
		err := a.Answer(a.Gradient)
		if a.Trainer == 0 && a.Chunk == 0 {
			again = a.Answer(a.Gradient)
		}
		return err
	})
	for i, l := range s.links {
		commtest.Must(t, l.PushPull(0, s.stores[i].Buckets[0]).Wait())
		for k, v := range s.stores[i].Buckets[0].Gradient.Values {
			if v != 1 {
				t.Fatalf("trainer%d has %g at %d", i, v, k)
			}
		}
	}
	var got []string
	for range 6 {
		got = append(got, <-chunks)
	}
	want := []string{"0: chunk 0 of 3, in place true", "0: chunk 1 of 3, in place true",
		"0: chunk 2 of 3, in place true", "1: chunk 0 of 3, in place false", "1: chunk 1 of 3, in place false",
		"1: chunk 2 of 3, in place false"}
	if !slices.Equal(got, want) {
		t.Errorf("the server got %q, want %q", got, want)
	}
	if again == nil ||
		!strings.Contains(again.Error(),
			"answered chunk 0 of bucket 0 to trainer0, which has no push of it in flight") {
		t.Errorf("a second answer gave %v", again)
	}
}

// The end of any trainer ends Serve with an error that names the trainer, and
// ends all other links. An error of handle does the same once.
func TestServersAcrossHostsNoticeWhoIsGone(t *testing.T) {
	specs := []tensor.BucketSpec{commtest.DenseSpec(0, 9)}
	for gone, other := range []int{1, 0} {
		t.Run(fmt.Sprint(other), func(t *testing.T) {
			s := serve(t, []int{0, 1}, linktest.Patience, true, specs, linktest.NewAverager(2, specs).Handle)
			pending := s.links[other].PushPull(0, s.stores[other].Buckets[0])
			commtest.Must(t, s.near[gone].Close())
			var peer *comm.PeerError
			if err := <-s.done; !errors.As(err, &peer) || peer.Peer != linktest.Name(gone) {
				t.Errorf("without trainer%d the server ended with %v", gone, err)
			}
			if err := pending.Wait(); !errors.As(err, &peer) || peer.Peer != "server9" {
				t.Errorf("trainer%d, whose server ended, got %v", other, err)
			}
		})
	}
	for pusher := range 2 {
		s := serve(t, []int{0, 1}, linktest.Patience, true, specs,
			func(*comm.Arrival) error { return io.ErrNoProgress })
		err := s.links[pusher].PushPull(0, s.stores[pusher].Buckets[0]).Wait()
		var peer *comm.PeerError
		if ended := <-s.done; !errors.Is(ended, io.ErrNoProgress) || !errors.As(err, &peer) {
			t.Errorf("an error over the push of trainer%d ended Serve with %v and gave it %v", pusher, ended, err)
		}
	}
	s := serve(t, []int{0, 1}, linktest.Patience, true, specs, linktest.NewAverager(2, specs).Handle)
	commtest.Must(t, s.port.Close())
	commtest.Must(t, <-s.done) // errors after Close do not count
}

// If the server is late, the trainers of both hosts name it.
func TestServersAcrossHostsEndInTime(t *testing.T) {
	specs := []tensor.BucketSpec{commtest.DenseSpec(0, 9)}
	for late := range 2 {
		s := serve(t, []int{0, 1}, 200*time.Millisecond, true, specs, func(*comm.Arrival) error { return nil })
		want := fmt.Sprintf("trainer%d waited 0.2 s for the answer to batch 4, bucket 0 from server9", late)
		if err := s.links[late].PushPull(4, s.stores[late].Buckets[0]).Wait(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
