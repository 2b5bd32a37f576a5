package fabric

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"testing"

	"github.com/psbench/psbench/comm"
	"github.com/psbench/psbench/comm/tensor"
	"github.com/psbench/psbench/internal/comm/commtest"
	"github.com/psbench/psbench/internal/comm/linktest"
	"github.com/psbench/psbench/internal/comm/wire"
	"github.com/psbench/psbench/internal/comm/wire/grpc"
)

var benchSizes = []struct {
	name     string
	elements int
}{{"4KiB", 1 << 10}, {"1MiB", 1 << 18}, {"25MiB", 25 << 18}}

// collective is a link under test: reduce runs one operation of one rank. If
// every gradient holds v, the result is want(v).
type collective struct {
	name  string
	ranks int
	specs func(elements int) tensor.BucketSpec
	want  func(v float32) float32
	join  func(t commtest.TB, n *Fabric, ranks int, spec tensor.BucketSpec) reducer
}

type reducer func(rank int, batch int64, b *tensor.Bucket) *comm.Future

func joinServer(t commtest.TB, f *Fabric, ranks int, spec tensor.BucketSpec) reducer {
	t.Helper()
	specs := []tensor.BucketSpec{spec}
	links, stores, far := make([]comm.ServerLink, ranks), make([]*comm.Store, ranks), make([]*wire.Conn, ranks)
	errs := make([]error, ranks)
	var joined sync.WaitGroup
	for i := range ranks {
		near, at := linktest.Link(t, f.Link(i%2 == 0).Network, linktest.Name(i), "server9")
		far[i] = at
		joined.Go(func() {
			if stores[i], errs[i] = f.NewStore(linktest.Name(i), specs); errs[i] == nil {
				links[i], errs[i] = f.NewServerLink(near, stores[i], linktest.Patience)
			}
		})
	}
	chunked := !f.Maps() || f.Within != nil && ranks > 1 // pieces do not work with an Averager
	port, err := f.NewPort(wire.Links{Self: "server9", Conns: far, Timeout: linktest.Patience}, specs, chunked)
	joined.Wait()
	commtest.Must(t, errors.Join(append(errs, err)...))
	served := make(chan error, 1)
	go func() { served <- port.Serve(linktest.NewAverager(ranks, specs).Handle) }()
	t.Cleanup(func() {
		for i, l := range links {
			_ = l.Close()
			_ = stores[i].Close()
		}
		_ = port.Close()
		if err := <-served; err != nil {
			t.Fatalf("the port ended with %v", err)
		}
	})
	return func(rank int, batch int64, b *tensor.Bucket) *comm.Future { return links[rank].PushPull(batch, b) }
}

func joinRing(t commtest.TB, f *Fabric, ranks int, spec tensor.BucketSpec) reducer {
	groups := joinGroup(t, f, inPairs(ranks), linktest.Patience, spec).links
	return func(rank int, batch int64, b *tensor.Bucket) *comm.Future { return groups[rank].AllReduce(batch, b) }
}

func joinChain(t commtest.TB, f *Fabric, ranks int, spec tensor.BucketSpec) reducer {
	groups := joinGroup(t, f, inPairs(ranks), linktest.Patience, spec).links
	return func(rank int, batch int64, b *tensor.Bucket) *comm.Future { return groups[rank].Broadcast(batch, b, 0) }
}

func tableOfRows(elements int) tensor.BucketSpec {
	const width = 128
	return commtest.SparseSpec(0, elements/width, width, elements/width)
}

func dense(elements int) tensor.BucketSpec { return commtest.DenseSpec(0, elements) }

func once(v float32) float32     { return v }
func fourfold(v float32) float32 { return 4 * v }
func twice(v float32) float32    { return 2 * v }

var collectives = []collective{
	{"pushpull1", 1, dense, once, joinServer},
	{"pushpull2", 2, dense, once, joinServer},
	{"pushpull2-sparse", 2, tableOfRows, once, joinServer},
	{"pushpull3", 3, dense, once, joinServer},
	{"allreduce2", 2, dense, twice, joinRing},
	{"allreduce4", 4, dense, fourfold, joinRing},
	{"allreduce2-sparse", 2, tableOfRows, twice, joinRing},
	{"allreduce4-sparse", 4, tableOfRows, fourfold, joinRing},
	{"broadcast2", 2, dense, once, joinChain},
	{"broadcast4", 4, dense, once, joinChain},
	{"broadcast2-sparse", 2, tableOfRows, once, joinChain},
}

// prepare joins the ranks, checks one result and returns the steady state:
// the ranks with their rounds.
func (c collective) prepare(t commtest.TB, n *Fabric, elements int) *linktest.Together {
	spec := c.specs(elements)
	reduce := c.join(t, n, c.ranks, spec)
	var buckets []*tensor.Bucket
	batches := make([]int64, c.ranks)
	for range c.ranks {
		b := tensor.NewBucket(spec)
		if spec.Sparse {
			commtest.Must(t, b.Gradient.SetRows(spec.TableRows))
			for i := range b.Gradient.Rows {
				b.Gradient.Rows[i] = int32(i)
			}
		}
		for i := range b.Gradient.Values {
			b.Gradient.Values[i] = float32(i % 100)
		}
		buckets = append(buckets, b)
	}
	p := linktest.NewTogether(c.ranks, func(rank int) error {
		batches[rank]++
		return reduce(rank, batches[rank]-1, buckets[rank]).Wait()
	})
	t.Cleanup(p.Close)
	p.Round(t)
	for rank, b := range buckets {
		for i, v := range b.Gradient.Values {
			if v != c.want(float32(i%100)) {
				t.Fatalf("%s: rank %d has %g at %d, want %g", c.name, rank, v, i, c.want(float32(i%100)))
			}
			b.Gradient.Values[i] = 0 // keeps the sums of later rounds finite
		}
	}
	return p
}

func BenchmarkCollectives(b *testing.B) {
	for _, c := range collectives {
		for _, n := range fabrics {
			for _, size := range benchSizes {
				b.Run(fmt.Sprintf("%s/%s/%s", c.name, n.Name, size.name), func(b *testing.B) {
					p := c.prepare(b, n, size.elements)
					b.SetBytes(int64(4 * size.elements))
					b.ReportAllocs()
					for b.Loop() {
						p.Round(b)
					}
				})
			}
		}
	}
}

// BenchmarkLoopback sends bytes over bare connections in both directions at
// once. This is the upper limit for push-pull over such connections.
func BenchmarkLoopback(b *testing.B) {
	for _, n := range []*wire.Network{wire.Unix, wire.TCP} {
		for _, ranks := range []int{1, 2} {
			for _, size := range benchSizes {
				b.Run(fmt.Sprintf("%s%d/%s", n.Name(), ranks, size.name), func(b *testing.B) {
					var ends []net.Conn
					for i := range ranks {
						near, far := linktest.Link(b, n, linktest.Name(i), "server9")
						a, _ := near.Hijack()
						b, _ := far.Hijack()
						ends = append(ends, a, b)
					}
					buffers := make([][]byte, 4*ranks)
					for i := range buffers {
						buffers[i] = make([]byte, 4*size.elements)
					}
					p := linktest.NewTogether(4*ranks, func(i int) (err error) {
						if i%2 == 0 {
							_, err = ends[i/2].Write(buffers[i])
						} else {
							_, err = io.ReadFull(ends[i/2], buffers[i])
						}
						return err
					})
					b.Cleanup(p.Close)
					b.SetBytes(int64(4 * size.elements))
					for b.Loop() {
						p.Round(b)
					}
				})
			}
		}
	}
}

// gRPC allocates several objects per message.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	for _, c := range collectives {
		t.Run(c.name, func(t *testing.T) {
			for _, n := range fabrics {
				if n.Network == grpc.Network {
					continue
				}
				for _, size := range benchSizes[:2] {
					p := c.prepare(t, n, size.elements)
					// The count covers the whole process. Unrelated work may
					// disturb one measurement, but hardly five.
					allocs := math.Inf(1)
					for tries := 0; allocs != 0 && tries < 5; tries++ {
						allocs = min(allocs, testing.AllocsPerRun(50, func() { p.Round(t) }))
					}
					if allocs != 0 {
						t.Errorf("%s of %s over %s allocates %g times per round, want 0", c.name, size.name, n.Name,
							allocs)
					}
				}
			}
		})
	}
}
