package fabric

import (
	"errors"
	"fmt"
	"slices"
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
	"github.com/psbench/psbench/internal/comm/wire/grpc"
)

// group is a set of members and their stores.
type group struct {
	links  []comm.GroupLink
	stores []*comm.Store
}

// inPairs assigns hosts to ranks: every two ranks share a host.
func inPairs(size int) []int {
	hosts := make([]int, size)
	for i := range hosts {
		hosts[i] = i / 2
	}
	return hosts
}

// joinGroup joins members over a fabric, with these pretended hosts.
func joinGroup(t commtest.TB, f *Fabric, hosts []int, timeout time.Duration, specs ...tensor.BucketSpec) *group {
	t.Helper()
	size := len(hosts)
	g := &group{links: make([]comm.GroupLink, size)}
	conns := make([][]*wire.Conn, size)
	for i := range size {
		conns[i] = make([]*wire.Conn, size)
		store, err := f.NewStore(linktest.Name(i), specs)
		commtest.Must(t, err)
		g.stores = append(g.stores, store)
	}
	for i := range size {
		for _, j := range f.GroupPeers(i, hosts) {
			if i < j {
				conns[i][j], conns[j][i] = linktest.Link(t, f.Link(hosts[i] == hosts[j]).Network, linktest.Name(i),
					linktest.Name(j))
			}
		}
	}
	errs := make([]error, size)
	var joined sync.WaitGroup
	for i := range size {
		joined.Go(func() {
			g.links[i], errs[i] = f.NewGroup(wire.Links{Self: linktest.Name(i), Conns: conns[i], Timeout: timeout},
				hosts, i, g.stores[i])
		})
	}
	joined.Wait()
	commtest.Must(t, errors.Join(errs...))
	t.Cleanup(func() {
		for i, l := range g.links {
			_ = l.Close()
			_ = g.stores[i].Close()
		}
	})
	return g
}

// all makes every member start an operation and waits for all of them.
func (g *group) all(start func(i int, l comm.GroupLink) *comm.Future) error {
	errs := make([]error, len(g.links))
	var ended sync.WaitGroup
	for i, l := range g.links {
		ended.Go(func() { errs[i] = start(i, l).Wait() })
	}
	ended.Wait()
	return errors.Join(errs...)
}

// scatter is a collective that scatters elements, together with a reference
// implementation in plain loops. want returns the expected values of member i;
// outside [from, to) they are undefined.
type scatter struct {
	name  string
	start func(l comm.GroupLink, batch int64, b *tensor.Bucket) *comm.Future
	want  func(values [][]float32, i int) (want []float32, from, to int)
}

var scatters = []scatter{
	{"reduce-scatter", comm.GroupLink.ReduceScatter, func(values [][]float32, i int) ([]float32, int, int) {
		want := make([]float32, len(values[0]))
		for _, v := range values {
			for k := range v {
				want[k] += v[k]
			}
		}
		n, t := len(want), len(values)
		return want, i * n / t, (i + 1) * n / t
	}},
	{"all-gather", comm.GroupLink.AllGather, func(values [][]float32, _ int) ([]float32, int, int) {
		n, t := len(values[0]), len(values)
		var want []float32
		for i, v := range values {
			want = append(want, v[i*n/t:(i+1)*n/t]...)
		}
		return want, 0, n
	}},
	{"all-to-all", comm.GroupLink.AllToAll, func(values [][]float32, i int) ([]float32, int, int) {
		n := len(values[0]) / len(values)
		var want []float32
		for _, v := range values {
			want = append(want, v[i*n:(i+1)*n]...)
		}
		return append(want, values[i][len(want):]...), 0, len(values[0])
	}},
}

// draws returns random whole numbers, because their sums are exact in any
// order.
func draws(t *rapid.T, size, elements int) [][]float32 {
	values := make([][]float32, size)
	for i := range values {
		values[i] = make([]float32, elements)
		x := uint32(rapid.IntRange(1, 1<<30).Draw(t, "seed"))
		for k := range values[i] {
			x = x*1664525 + 1013904223
			values[i][k] = float32(int32(x) >> 20)
		}
	}
	return values
}

// Scatters give the same bits as plain loops for all sizes, in place and
// copied, with several operations at once and over several batches.
func TestScattersAgreeWithLoops(t *testing.T) {
	overTransports(t, func(t *testing.T, f *Fabric) {
		commtest.Check(t, func(t *rapid.T) {
			size := rapid.IntRange(1, 5).Draw(t, "size")
			specs := []tensor.BucketSpec{
				commtest.DenseSpec(0, rapid.IntRange(0, 9).Draw(t, "few")),
				commtest.DenseSpec(1, rapid.IntRange(0, 60_000).Draw(t, "some")),
				commtest.DenseSpec(2, rapid.SampledFrom([]int{0, 1, 2 * ringBlock, 4*ringBlock + 3}).Draw(t, "many")),
			}
			hosts := rapid.SliceOfN(rapid.IntRange(0, 2), size, size).Draw(t, "hosts")
			g := joinGroup(t, f, hosts, linktest.Patience, specs...)
			for batch := range int64(3) {
				var futures []*comm.Future
				var checks []func()
				for _, k := range rapid.Permutation([]int{0, 1, 2}).Draw(t, "order") {
					s := rapid.SampledFrom(scatters).Draw(t, "operation")
					values := draws(t, size, specs[k].Elements)
					for i, l := range g.links {
						b := place(g.stores[i], k, rapid.Bool().Draw(t, "copied"))
						copy(b.Gradient.Values, values[i])
						futures = append(futures, s.start(l, batch, b))
						checks = append(checks, func() {
							want, from, to := s.want(values, i)
							for e := from; e < to; e++ {
								if got := b.Gradient.Values[e]; got != want[e] {
									t.Fatalf("%s among %d: element %d of %d of member %d is %v instead of %v", s.name,
										size, e, len(want), i, got, want[e])
								}
							}
						})
					}
				}
				for _, future := range futures {
					commtest.Must(t, future.Wait())
				}
				for _, check := range checks {
					check()
				}
			}
		})
	})
}

// When a member has its result, no other member still reads its gradient, so
// the member may overwrite it at once.
func TestScattersLeaveNobodyReading(t *testing.T) {
	overTransports(t, func(t *testing.T, f *Fabric) {
		const size, elements = 3, 30_000
		rounds := commtest.Rounds(60)
		value := func(member int, batch int64) float32 { return float32(100*member) + float32(batch) }
		for _, s := range scatters {
			g := joinGroup(t, f, inPairs(size), linktest.Patience, commtest.DenseSpec(0, elements))
			var members sync.WaitGroup
			for i, l := range g.links {
				members.Go(func() {
					own := g.stores[i].Buckets[0].Gradient.Values
					for batch := range int64(rounds) {
						for e := range own {
							own[e] = value(i, batch)
						}
						if err := s.start(l, batch, g.stores[i].Buckets[0]).Wait(); err != nil {
							t.Error(err)
							return
						}
						values := make([][]float32, size)
						for m := range values {
							values[m] = slices.Repeat([]float32{value(m, batch)}, elements)
						}
						want, from, to := s.want(values, i)
						if !slices.Equal(own[from:to], want[from:to]) {
							t.Errorf("%s: member %d has wrong values in batch %d", s.name, i, batch)
							return
						}
						for e := range own {
							own[e] = -1
						}
					}
				})
			}
			members.Wait()
		}
	})
}

// A reduce-scatter followed by an all-gather equals an all-reduce.
func TestReduceScatterAndAllGatherAreAnAllReduce(t *testing.T) {
	overTransports(t, func(t *testing.T, f *Fabric) {
		const size, elements = 3, 10_007
		g := joinGroup(t, f, inPairs(size), linktest.Patience, commtest.DenseSpec(0, elements),
			commtest.DenseSpec(1, elements))
		for i, s := range g.stores {
			for k, b := range s.Buckets {
				for e := range b.Gradient.Values {
					s.Buckets[k].Gradient.Values[e] = float32((i+2)*e%1000 - 300)
				}
			}
		}
		commtest.Must(t,
			g.all(func(i int, l comm.GroupLink) *comm.Future { return l.AllReduce(0, g.stores[i].Buckets[0]) }))
		commtest.Must(t,
			g.all(func(i int, l comm.GroupLink) *comm.Future { return l.ReduceScatter(0, g.stores[i].Buckets[1]) }))
		commtest.Must(t,
			g.all(func(i int, l comm.GroupLink) *comm.Future { return l.AllGather(1, g.stores[i].Buckets[1]) }))
		for _, s := range g.stores {
			commtest.RequireSame(t, &s.Buckets[1].Gradient, &s.Buckets[0].Gradient)
		}
	})
}

func TestScattersTakeNoRows(t *testing.T) {
	overTransports(t, func(t *testing.T, f *Fabric) {
		g := joinGroup(t, f, inPairs(2), linktest.Patience, commtest.SparseSpec(0, 9, 2, 9))
		for _, s := range scatters {
			err := s.start(g.links[0], 0, g.stores[0].Buckets[0]).Wait()
			if err == nil || !strings.HasPrefix(err.Error(), "trainer0 cannot run a") ||
				!strings.Contains(err.Error(), s.name+" of bucket 0: it is sparse") {
				t.Errorf("%s of rows gives %v", s.name, err)
			}
		}
		// The refused operations have not changed the group.
		commtest.Must(t,
			g.all(func(i int, l comm.GroupLink) *comm.Future { return l.AllReduce(0, g.stores[i].Buckets[0]) }))
	})
}

// A wait for a missing member ends at the deadline and names the member; then
// the group has failed.
func TestScattersEndAtTheDeadline(t *testing.T) {
	overTransports(t, func(t *testing.T, f *Fabric) {
		for _, s := range scatters {
			for _, elements := range []int{5, 3 * ringBlock} {
				g := joinGroup(t, f, inPairs(2), 400*time.Millisecond, commtest.DenseSpec(0, elements))
				var wait *comm.WaitError
				err := s.start(g.links[0], 3, g.stores[0].Buckets[0]).Wait()
				if !errors.As(err, &wait) || fmt.Sprint(wait.For) != "[trainer1]" ||
					!strings.Contains(err.Error(), "batch 3, bucket 0") {
					t.Errorf("%s of %d elements: %v", s.name, elements, err)
				}
				if again := g.links[0].AllReduce(4, g.stores[0].Buckets[0]).Wait(); again == nil {
					t.Errorf("%s: the group works after its failure", s.name)
				}
			}
		}
	})
}

func TestScattersNoticeADeadPeer(t *testing.T) {
	overTransports(t, func(t *testing.T, f *Fabric) {
		for _, s := range scatters {
			g := joinGroup(t, f, inPairs(3), linktest.Patience, commtest.DenseSpec(0, 3*ringBlock))
			futures := []*comm.Future{s.start(g.links[0], 0, g.stores[0].Buckets[0]),
				s.start(g.links[1], 0, g.stores[1].Buckets[0])}
			commtest.Must(t, g.links[2].Close())
			named := false // at least one member names it; the other may only see that the first gave up
			for i, f := range futures {
				var peer *comm.PeerError
				if err := f.Wait(); !errors.As(err, &peer) {
					t.Errorf("%s with a member that left gives %v to member %d", s.name, err, i)
				} else if peer.Peer == "trainer2" {
					named = true
				}
			}
			if !named {
				t.Errorf("%s: nobody names the member that left", s.name)
			}
		}
	})
}

// Members that run different operations or batches get an error and no wrong
// values.
func TestScattersMustAgree(t *testing.T) {
	allReduce := scatter{"all-reduce", comm.GroupLink.AllReduce, nil}
	overTransports(t, func(t *testing.T, f *Fabric) {
		for _, a := range scatters {
			for _, b := range append([]scatter{allReduce}, scatters...) {
				for _, batch := range []int64{0, 1} {
					if a.name == b.name && batch == 0 {
						continue
					}
					g := joinGroup(t, f, inPairs(2), linktest.Patience, commtest.DenseSpec(0, 100))
					err := g.all(func(i int, l comm.GroupLink) *comm.Future {
						if i == 0 {
							return a.start(l, 0, g.stores[i].Buckets[0])
						}
						return b.start(l, batch, g.stores[i].Buckets[0])
					})
					if err == nil || !strings.Contains(err.Error(), "ranks must ") {
						t.Errorf("%s of batch 0 with %s of batch %d: %v", a.name, b.name, batch, err)
					}
				}
			}
		}
	})
}

// In the steady state nothing is allocated, except by gRPC.
func TestScattersAllocateNothing(t *testing.T) {
	overTransports(t, func(t *testing.T, f *Fabric) {
		if f.Network == grpc.Network {
			return // gRPC allocates for each message
		}
		const rounds = 50
		for _, s := range scatters {
			g := joinGroup(t, f, inPairs(2), linktest.Patience, commtest.DenseSpec(0, 3*ringBlock))
			run := func(i int, batch int64) {
				if err := s.start(g.links[i], batch, g.stores[i].Buckets[0]).Wait(); err != nil {
					t.Error(err)
				}
			}
			var other sync.WaitGroup
			other.Go(func() {
				for batch := range int64(rounds + 2) {
					run(1, batch)
				}
			})
			run(0, 0) // an all-to-all allocates its buffers
			batch := int64(1)
			allocs := testing.AllocsPerRun(rounds, func() { // AllocsPerRun runs the function once more than rounds
				run(0, batch)
				batch++
			})
			other.Wait()
			if allocs != 0 {
				t.Errorf("%s allocates %v times", s.name, allocs)
			}
		}
	})
}

// ringBlock is the number of elements in one frame of a ring.
const ringBlock = 64 << 10

// place returns bucket k of a store, or a copy of it on the heap.
func place(s *comm.Store, k int, copied bool) *tensor.Bucket {
	if copied {
		return tensor.NewBucket(s.Buckets[k].BucketSpec)
	}
	return s.Buckets[k]
}
